// Keeps a payer's page current, shows times in the reader's zone and sizes the card form. It never changes what is typed.
const script = document.currentScript
const soonMs = 4_000
const laterMs = 15_000
const soonForMs = 5 * 60_000
// A stream begins with a message, and has a sign of life every 20 s. One without is held up on its way, or dead.
const firstMs = 5_000
const silentMs = 45_000
// How long the page polls before it tries a stream again.
const pollForMs = 60_000
// Longer than a form waits. It may be sent again after that: payments counts one attempt.
const answerMs = 20_000
// A click on what follows a field must reach it before the page changes.
const settleMs = 1_000
const openedMs = Date.now()
const cancelMark = `cancel ${location.pathname}`
const { page } = script.dataset
let { watch, stamp } = script.dataset
let latest
let formState
let stream
let timer
let pollUntil
let isSending = false
let sendingTimer

const one = (selector) => document.querySelector(selector)

/** Whether a change must wait: a field or the card form has focus or content. */
function isInUse(phase) {
  const fields = [...document.querySelectorAll('main input:not([type="hidden"])')]
  if (fields.some((field) => field.value || field === document.activeElement)) return true
  const frame = one('iframe')
  if (!frame || formState === 'approved' || formState === 'closed') return false
  const isUsed = formState === 'editing' || formState === 'sending'
  return phase !== 'ended' || isUsed || document.activeElement === frame
}

function consider() {
  // The answer to what is being sent says it too, and must not be abandoned.
  if (isSending || !latest || latest.stamp === stamp) return
  if (!isInUse(latest.phase)) void renew()
  // The form itself shows the outcome of an attempt.
  else if (!one('iframe') || latest.phase === 'ended') one('#changed').hidden = false
}

function hear(message) {
  latest = message
  consider()
}

/** Puts the new content in place; focus stays where it was, and the change is announced. */
async function renew() {
  const heard = latest
  const answer = await fetch(page, { signal: AbortSignal.timeout(10_000) }).catch(() => undefined)
  if (!answer?.ok || latest !== heard || isInUse(heard.phase)) return
  // The style is here already, and the page's policy has the nonce of this one alone. Scripts run here.
  const text = (await answer.text()).replace(/<(style|noscript)\b[\s\S]*?<\/\1>/g, '')
  const next = new DOMParser().parseFromString(text, 'text/html')
  const content = next.querySelector('main')
  const { dataset } = next.querySelector('script[data-page]') ?? {}
  // A policy that has no frame cannot show one.
  if (!content || !dataset || next.querySelector('iframe')) return location.replace(page)
  const { id, href } = document.activeElement
  const hadFocus = one('main').contains(document.activeElement)
  const state = content.querySelector('#state')
  state?.removeAttribute('role')
  one('main').replaceChildren(...content.childNodes)
  document.title = next.title
  one('#changed').hidden = true
  one('#live').textContent = [one('h1'), state].map((part) => part?.textContent.trim()).join(' ')
  if (hadFocus) {
    const sameLink = [...one('main').querySelectorAll('a')].find(
      (link) => href && link.href === href,
    )
    focusOn((id && one(`#${id}`)) || sameLink || one('h1'))
  }
  ;({ stamp } = dataset)
  watch = dataset.watch
  if (!watch) unwatch()
  enhance()
}

function focusOn(element) {
  if (element.matches('h1, div')) element.tabIndex = -1
  element.focus()
}

async function look() {
  try {
    const answer = await fetch(watch, { signal: AbortSignal.timeout(10_000) })
    if (answer.ok) hear(await answer.json())
  } catch {
    // No network for now.
  }
}

/** Polls in place of a stream without a sign of life, the less often the longer the page is open, and tries one again. */
async function poll() {
  const own = stream
  own.close()
  pollUntil ??= Date.now() + pollForMs
  await look()
  // Meanwhile the page was hidden, or has ended.
  if (stream !== own) return
  if (Date.now() > pollUntil) follow()
  else pollIn(pauseMs())
}

function pollIn(ms) {
  clearTimeout(timer)
  timer = setTimeout(() => void poll(), ms)
}

function pauseMs() {
  return Date.now() - openedMs < soonForMs ? soonMs : laterMs
}

function unwatch() {
  stream?.close()
  stream = undefined
  clearTimeout(timer)
}

function follow() {
  unwatch()
  if (!watch || document.hidden) return
  pollUntil = undefined
  const own = new EventSource(watch.replace(/state$/, 'events'))
  stream = own
  own.addEventListener('alive', () => pollIn(silentMs))
  own.addEventListener('message', ({ data }) => {
    pollIn(silentMs)
    hear(JSON.parse(data))
  })
  // Closed: the server refused it. A connection that only broke is opened again by the browser.
  own.addEventListener('error', () => {
    if (own.readyState === EventSource.CLOSED) pollIn(pauseMs())
  })
  pollIn(firstMs)
}

/** Shows moments in the reader's zone, and what is left of a short time. */
function showTimes() {
  const { lang } = document.documentElement
  const locale = lang === 'ar' ? 'ar-u-nu-latn' : lang
  const format = new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
  })
  for (const time of document.querySelectorAll('time[data-local]')) {
    const at = new Date(time.dateTime)
    const leftS = Math.max(0, Math.floor((at - Date.now()) / 1_000))
    const left = `${Math.floor(leftS / 60)}:${String(leftS % 60).padStart(2, '0')}`
    const isCounted = time.dataset.left && leftS > 0 && leftS < 3_600
    time.textContent =
      format.format(at) + (isCounted ? ` (${time.dataset.left.replace('{time}', left)})` : '')
  }
}

function enhance() {
  showTimes()
  const printer = one('#print')
  if (!printer) return
  printer.hidden = false
  printer.addEventListener('click', () => print())
}

/** Shows that a form is being sent; until that ends, it is not sent again and the page does not change. */
function showSending(isOn) {
  isSending = isOn
  clearTimeout(sendingTimer)
  const notice = one('#sending')
  if (notice) notice.hidden = !isOn
  one('main form button')?.setAttribute('aria-disabled', isOn)
  if (!isOn) return consider()
  one('#live').textContent = notice.textContent
  sendingTimer = setTimeout(() => showSending(false), answerMs)
}

addEventListener('submit', (event) => {
  const isOnline = navigator.onLine
  if (isSending || !isOnline) event.preventDefault()
  one('#offline').hidden = isOnline
  if (isOnline && !isSending) showSending(true)
})
addEventListener('pageshow', () => showSending(false))
// The payer stopped it.
addEventListener('keydown', ({ key }) => isSending && key === 'Escape' && showSending(false))
globalThis.navigation?.addEventListener('navigateerror', () => isSending && showSending(false))
addEventListener('focusout', () => setTimeout(consider, settleMs))
addEventListener('message', ({ origin, source, data }) => {
  const frame = one('iframe')
  const isForm = source && source === frame?.contentWindow && origin === new URL(frame.src).origin
  if (!isForm || data?.type !== 'payweave.card-form') return
  const { height, state } = data
  if (height > 0) frame.style.height = `${Math.min(Math.max(height, 120), 1_600) + 2}px`
  formState = String(state)
  consider()
  // This page is itself a frame of the payer's page where the form was slow.
  const own = document.documentElement.getBoundingClientRect().height
  if (parent !== window) parent.postMessage({ ...data, height: own }, location.origin)
})
document.addEventListener('visibilitychange', follow)
// The payer who cancelled goes to the shop. The mark is of this tab: no address leads anybody away.
addEventListener('click', ({ target }) => {
  if (target.closest('#cancel')) sessionStorage[cancelMark] = 1
})
if (sessionStorage[cancelMark]) {
  delete sessionStorage[cancelMark]
  if (one('#cancelled')) location.replace(one('#cancelled').href)
}
enhance()
if (one('time[data-left]')) setInterval(showTimes, 1_000)
if (one('#mistake')) focusOn(one('#mistake'))
follow()
