// Shows Stripe's fields for a card, sends an attempt and follows it, and reports to the page that shows the form. It reads nothing that is typed: Stripe's frames have it.
const { host, publishableKey, amount, currency, locale, texts, openAttemptId, light, dark } =
  JSON.parse(document.currentScript.dataset.settings)
const pollMs = 700
const pause = () => new Promise((resolve) => setTimeout(resolve, pollMs))
let now = texts ? 'ready' : 'closed'

function report(state = now) {
  now = state
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height)
  // The browser delivers it to this origin alone.
  parent.postMessage({ type: 'payweave.card-form', version: 1, height, state: now }, host)
}
new ResizeObserver(() => report()).observe(document.documentElement)
addEventListener('pageshow', () => report())

const form = document.querySelector('form')
const button = form?.querySelector('button')
const problem = form?.querySelector('[role=alert]')
const status = form?.querySelector('[role=status]')
// Absent where there is nothing to pay, and where Stripe's script did not come.
const stripe = texts && globalThis.Stripe?.(publishableKey)
const elements = stripe?.elements(fieldOptions())
if (elements) start()
else if (texts) say(problem, texts.unavailable)

function fieldOptions() {
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches
  const accent = isDark ? dark : light
  const theme = isDark ? 'night' : 'stripe'
  return {
    mode: 'payment',
    amount,
    currency,
    locale,
    allowedPaymentMethodTypes: ['card'],
    appearance: { theme, ...(accent && { variables: { colorPrimary: accent } }) },
  }
}

function start() {
  const none = 'never'
  const fields = elements.create('payment', {
    wallets: { applePay: none, googlePay: none, link: none },
  })
  fields.on('ready', () => {
    button.disabled = now === 'sending'
  })
  fields.on('change', ({ empty }) => {
    if (now !== 'sending') report(empty ? 'ready' : 'editing')
  })
  fields.mount('#fields')
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void pay()
  })
  if (openAttemptId) void followAttempt(openAttemptId)
}

function say(element, text) {
  element.textContent = text
  element.hidden = text === ''
}

function busy(isBusy) {
  button.disabled = isBusy
  say(status, isBusy ? texts.sending : '')
  if (isBusy) say(problem, '')
}

function refuse(message, state) {
  busy(false)
  say(problem, message)
  report(state)
}

async function pay() {
  busy(true)
  report('sending')
  const checked = await elements.submit()
  if (checked.error) return refuse(checked.error.message ?? '', 'editing')
  const { error, confirmationToken } = await stripe.createConfirmationToken({ elements })
  if (error) return refuse(error.message ?? '', 'editing')
  const attempt = crypto.randomUUID()
  const body = { attempt_id: attempt, confirmation_token: confirmationToken.id }
  // Sent again with the same id until it is answered: the attempt is made once.
  await ask('', body)
  await followAttempt(attempt)
}

async function followAttempt(attempt) {
  busy(true)
  report('sending')
  let hasActed = false
  for (;;) {
    const { outcome, message } = await ask(`/${attempt}`, undefined, hasActed)
    if (outcome === 'paid') return approve()
    if (outcome === 'refused') return refuse(message, 'declined')
    if (outcome === 'action' && !hasActed) {
      hasActed = true
      await act(attempt)
    } else await pause()
  }
}

/** Shows the questions of the payer's bank; how they are answered is asked of Stripe by the server. */
async function act(attempt) {
  const { client_secret: clientSecret } = await ask(`/${attempt}/action`, {})
  if (clientSecret === undefined) return
  say(status, texts.confirm)
  document.documentElement.classList.add('tall')
  await stripe.handleNextAction({ clientSecret }).catch(() => undefined)
  document.documentElement.classList.remove('tall')
  say(status, texts.sending)
}

function approve() {
  form.hidden = true
  const section = document.querySelector('section')
  section.hidden = false
  const title = section.querySelector('h1')
  title.textContent = texts.approved
  section.querySelector('p').textContent = texts.approvedText
  title.focus({ preventScroll: true })
  report('approved')
}

/** Asks the server below the path of this form, until it answers: GET without a body, else POST. */
async function ask(path, body, isChanged = false) {
  const url = `${location.pathname}/attempts${path}${location.search || '?'}${isChanged ? '&enquire=1' : ''}`
  const call = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  for (;;) {
    const response = await fetch(url, call).catch(() => undefined)
    if (response?.ok) return await response.json()
    // The form or the attempt is unknown, so that asking again does not help; 429 passes.
    const isRefused = response && response.status < 500 && response.status !== 429
    if (isRefused) return { outcome: 'refused', message: texts.unavailable }
    await pause()
  }
}
