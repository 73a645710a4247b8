// What pages do beside what their HTML does: local times, keys, tails. Every page works without it, but for the tail.
function showLocalTimes(root) {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
  for (const element of root.querySelectorAll('time')) {
    element.textContent = format.format(new Date(element.dateTime))
  }
}

function isTyping(target) {
  return target.closest('input, select, textarea, [contenteditable]') !== null
}

// To a link or the row itself: Enter never sends a form.
function moveRow(step) {
  const all = [...document.querySelectorAll('main tbody tr')]
  const rows = all.filter((row) => row.querySelector('a[href], button') !== null)
  if (rows.length === 0) return
  const at = rows.findIndex((row) => row.contains(document.activeElement))
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step
  const row = rows[Math.min(Math.max(next, 0), rows.length - 1)]
  const link = row.querySelector('a[href]')
  if (link === null) row.tabIndex = -1
  ;(link ?? row).focus()
}

function listenForKeys() {
  const help = document.getElementById('keys')
  if (help === null) return
  const button = document.getElementById('keys-button')
  button.hidden = false
  button.addEventListener('click', () => help.showModal())
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    const actions = {
      '/': () => document.querySelector('input[type=search]').focus(),
      '?': () => help.showModal(),
      j: () => moveRow(1),
      k: () => moveRow(-1),
    }
    const act = actions[event.key]
    if (act === undefined || help.open) return
    event.preventDefault()
    act()
  })
}

// A part that changes by itself comes as an event, until the page says that it has ended.
function followLivePart() {
  const part = document.getElementById('live')
  if (!part?.dataset.source) return
  const source = new EventSource(part.dataset.source)
  source.addEventListener('part', (event) => {
    const fresh = new DOMParser().parseFromString(JSON.parse(event.data).html, 'text/html').body
    showLocalTimes(fresh)
    part.replaceChildren(...fresh.childNodes)
  })
  // An answer that is no stream ends it: the session is over, or a service is down.
  source.addEventListener('error', () => {
    if (source.readyState !== EventSource.CLOSED) return
    document.getElementById('live-state').textContent =
      'Progress updates have stopped. Reload the page.'
  })
  source.addEventListener('end', () => {
    source.close()
    location.reload()
  })
}

function closeMenusBut(target) {
  for (const menu of document.querySelectorAll('.menu-of[open]')) {
    if (!menu.contains(target)) menu.open = false
  }
}

// A menu closes by Escape, and when something else is clicked.
function closeMenus() {
  document.addEventListener('click', (event) => closeMenusBut(event.target))
  document.addEventListener('keydown', (event) => event.key === 'Escape' && closeMenusBut(null))
}

// Without script there is no clipboard: the command is there to be selected.
function offerCopies() {
  for (const button of document.querySelectorAll('.copy')) {
    button.hidden = false
    const show = (text) => () => (button.textContent = text)
    button.addEventListener('click', () => {
      const command = button.previousElementSibling.textContent
      navigator.clipboard.writeText(command).then(show('Copied'), show('Not copied: select it'))
    })
  }
}

const tailRows = 200

function cellOf(text, label, href) {
  const cell = document.createElement('td')
  cell.dataset.label = label
  const inner = href === undefined ? cell : cell.appendChild(document.createElement('a'))
  if (href !== undefined) inner.href = href
  inner.textContent = text
  return cell
}

function rowOf(change, base) {
  const row = document.createElement('tr')
  const ended = new Date(change.time)
  const time = cellOf(ended.toLocaleTimeString(), 'Ended')
  time.title = change.time
  row.append(
    time,
    cellOf(change.deliveryId, 'Push', `${base}/${change.deliveryId}`),
    cellOf(change.kind, 'Kind'),
    cellOf(change.number, 'Attempt'),
    cellOf(change.outcome, 'Outcome'),
    cellOf(change.origin, 'Receiver'),
  )
  return row
}

function followTail() {
  const table = document.getElementById('tail')
  if (table === null) return
  const body = table.tBodies[0]
  const state = document.getElementById('tail-state')
  const pause = document.getElementById('tail-pause')
  const waiting = []
  let isDrawing = false
  let missed = 0
  let hasMissed = false
  const isPaused = () => pause.getAttribute('aria-pressed') === 'true'
  const miss = (count) => {
    hasMissed = true
    missed += count
  }
  const say = () => {
    const link = ['connecting', 'connected', 'ended: reload the page'][source.readyState]
    const words = hasMissed ? `${link}; ${missed || 'some'} changes were missed` : link
    if (state.textContent !== words) state.textContent = words
  }
  // All that came since the last frame is drawn at once: hundreds of changes a second leave the page usable.
  const draw = () => {
    isDrawing = false
    say()
    if (isPaused()) return
    const newest = waiting.splice(0).slice(-tailRows).toReversed()
    body.prepend(...newest.map((change) => rowOf(change, table.dataset.base)))
    while (body.rows.length > tailRows) body.deleteRow(-1)
  }
  const due = () => {
    if (isDrawing) return
    isDrawing = true
    requestAnimationFrame(draw)
  }
  const source = new EventSource(table.dataset.source)
  source.addEventListener('open', say)
  source.addEventListener('error', say)
  source.addEventListener('change', (event) => {
    waiting.push(JSON.parse(event.data))
    if (waiting.length > tailRows) {
      waiting.shift()
      // Without a pause it would have left the table at once.
      if (isPaused()) miss(1)
    }
    due()
  })
  source.addEventListener('gap', (event) => {
    miss(JSON.parse(event.data).missed)
    say()
  })
  pause.addEventListener('click', () => {
    pause.setAttribute('aria-pressed', String(!isPaused()))
    due()
  })
}

showLocalTimes(document)
listenForKeys()
closeMenus()
offerCopies()
followLivePart()
followTail()
