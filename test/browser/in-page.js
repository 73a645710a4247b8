// Functions that run inside a page of the browser. Most only look at what it shows; the comments of the others say what they change.

/** How wide the page is, and how wide the window. */
export function widths() {
  const { scrollWidth, clientWidth } = document.documentElement
  return { scrollWidth, clientWidth }
}

/** Everything that a keyboard must reach, in the order of the page. */
export function reachable() {
  return [...document.querySelectorAll('a, button, input, iframe, summary')]
    .filter((element) => element.checkVisibility() && element.getAttribute('type') !== 'hidden')
    .map((element) => element.id || element.textContent.trim() || element.title)
}

/** Where the keyboard is, and whether one sees it once the page has moved there. */
export async function focused() {
  await new Promise((resolve) => requestAnimationFrame(resolve))
  const element = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const { top, bottom, height } = element.getBoundingClientRect()
  return {
    name: element.id || element.textContent.trim() || element.title,
    hasRing: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
    isSeen: top > -1 && bottom < innerHeight + 1,
    height,
  }
}

/**
 * Notes from now on where the Tab key leads, beginning at a part of the page. Returns everything of that part that a keyboard must
 * reach, in the order of the page. A frame is passed through: what is in it is a page of its own.
 */
export function noteFocus(part) {
  const root = document.querySelector(part)
  const usable =
    'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]'
  const stops = [...root.querySelectorAll(usable)].filter(
    (element) => !element.disabled && element.checkVisibility({ visibilityProperty: true }),
  )
  const nameOf = (element) => {
    const { tagName, name, textContent } = element
    const said = name || textContent.replaceAll(/\s+/g, ' ').trim().slice(0, 60)
    return `${stops.indexOf(element)} ${tagName.toLowerCase()} ${said}`
  }
  const isSeen = (element) => {
    // Of a link over two lines, the first.
    const [box = element.getBoundingClientRect()] = element.getClientRects()
    const { left, top, bottom, width, height } = box
    // The end of a page is a fraction of a pixel away.
    if (!(top > -2 && (bottom < innerHeight + 2 || height > innerHeight))) return false
    const hit = document.elementFromPoint(left + width / 2, top + Math.min(height, innerHeight) / 2)
    return hit !== null && (element.contains(hit) || hit.contains(element))
  }
  const walk = { root, nameOf, walked: [], unseen: [], isOver: false }
  window.focusWalk = walk
  let last
  document.addEventListener('keyup', ({ key }) => {
    const element = document.activeElement
    if (key !== 'Tab' || walk.isOver || element === last) return
    last = element
    const isBack = walk.walked.length > 0 && element === walk.first
    if (element === document.body || isBack || !root.contains(element)) {
      walk.isOver = true
      return
    }
    walk.first ??= element
    const name = nameOf(element)
    walk.walked.push(name)
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    const hasRing = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2
    if (!hasRing || !isSeen(element)) walk.unseen.push(name)
  })
  if (root !== document.body) root.focus()
  return stops.map(nameOf)
}

/** Returns whether the Tab key has left the part of the page that `noteFocus` began with. */
export function atEnd() {
  const { root, walked, isOver } = window.focusWalk
  const element = document.activeElement
  return isOver || (walked.length > 0 && (element === document.body || !root.contains(element)))
}

/** What the Tab key has reached since `noteFocus`, and what of it could not be seen there. */
export function followFocus() {
  const { walked, unseen } = window.focusWalk
  return { walked, unseen }
}

/** Size of an element's letters, in pixels. */
export function letterSizePx(element) {
  return Number.parseFloat(getComputedStyle(element).fontSize)
}

/** Notes in the title that the page asked for a printer, which a browser without a window has not. */
export function notePrinting() {
  window.print = () => {
    document.title = 'printed'
  }
}

/** Returns whether the browser's PDF viewer fills the page. */
export function showsPdf() {
  return document.contentType === 'application/pdf' || document.plugins.length > 0
}

/** Lets a form be sent as a browser without checks of its own would. */
export function uncheck(form) {
  form.noValidate = true
}

/** Sum of the layout shifts since the page was opened, without those that followed an input. */
export function layoutShift() {
  return new Promise((resolve) => {
    let sum = 0
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value
    }).observe({ type: 'layout-shift', buffered: true })
    // Shifts that have happened are delivered before the second frame.
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)))
  })
}

/** Whether the page names its script, and whether that has run: it leaves its constants. */
export function scriptState() {
  const isNamed = document.scripts.length > 0
  return { isNamed, hasRun: typeof openedMs === 'number' }
}

/**
 * What the page shows from top to bottom: each element that is visible, where it begins, how high it is, and its own words but for
 * moments, which a script writes in the reader's zone.
 */
export function shownParts() {
  return [...document.body.querySelectorAll('*')]
    .filter((element) => element.checkVisibility())
    .map((element) => {
      const texts = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
      const words = element.matches('time') ? '' : texts.map(({ data }) => data.trim()).join(' ')
      const { top, height } = element.getBoundingClientRect()
      return [element.localName, element.className, top + scrollY, height, words].join(' ')
    })
}

/** Height of an element, in pixels. */
export function heightOf(element) {
  return element.getBoundingClientRect().height
}

/** Returns whether the rules of axe are in the page. */
export function hasRules() {
  return window.axe !== undefined
}

/**
 * The first element of each kind that shows text. Elements of a kind have the same colours: they and all around them have the same names,
 * classes and attributes. A long page has a thousand elements of fifty kinds.
 */
export function noteKinds() {
  const kinds = new Map([[null, '']])
  const kindOf = (element) => {
    const known = kinds.get(element)
    if (known !== undefined) return known
    const { localName, className, style, parentElement } = element
    const ends = [parentElement?.firstElementChild, parentElement?.lastElementChild]
    const kind = [
      kindOf(parentElement),
      localName,
      className,
      style.cssText,
      ...element.getAttributeNames(),
      ...ends.map((end) => end === element),
    ].join(' ')
    kinds.set(element, kind)
    return kind
  }
  const showsText = (element) =>
    element.matches('input, select, textarea') ||
    [...element.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim())
  const firsts = new Map()
  for (const element of document.body.querySelectorAll('*')) {
    if (!showsText(element) || !element.checkVisibility()) continue
    if (!firsts.has(kindOf(element))) firsts.set(kindOf(element), element)
  }
  window.kinds = [...firsts.values()]
}

/** What breaks these rules, or rules with one of these tags but `without`: the rule, and the elements that break it. `ofKinds`: of those that `noteKinds` noted. */
export async function violations({ runOnly, without = [], ofKinds = false }) {
  const found = await window.axe.run(ofKinds ? window.kinds : document, {
    runOnly,
    rules: Object.fromEntries(without.map((rule) => [rule, { enabled: false }])),
    iframes: false,
    resultTypes: ['violations'],
  })
  return found.violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)].join(' '))
}

/** Waits until the stream of the page's payment says a phase. */
export function hearPhase(phase) {
  const { watch } = document.querySelector('script[data-watch]').dataset
  return new Promise((resolve) => {
    const stream = new EventSource(watch.replace(/state$/, 'events'))
    stream.addEventListener('message', ({ data }) => {
      if (JSON.parse(data).phase !== phase) return
      stream.close()
      resolve()
    })
  })
}

/** Hides the page, as a browser does with a tab in the background. */
export function hide() {
  Object.defineProperty(document, 'hidden', { value: true })
  document.dispatchEvent(new Event('visibilitychange'))
}

/**
 * Notes in the console what the page shows of a form that is sent, at each change. The key F9 stops the sending as the
 * browser's own button does; F8 lets 20 s pass, as a clock would.
 */
export function noteSending() {
  const shown = (selector) => {
    const element = document.querySelector(selector)
    return element.checkVisibility() ? element.textContent.trim() : ''
  }
  const note = () => {
    const [sending, live, changed] = ['#sending', '#live', '#changed'].map(shown)
    // oxlint-disable-next-line no-console -- while a form is sent, nothing else leaves the page
    console.info(JSON.stringify({ sending, live, changed }))
  }
  const all = { subtree: true, childList: true, attributes: true, characterData: true }
  new MutationObserver(note).observe(document.body, all)
  const setTimer = setTimeout
  let inTwentySeconds
  window.setTimeout = (work, ms) => {
    if (ms === 20_000) inTwentySeconds = work
    return setTimer(work, ms)
  }
  addEventListener('keydown', ({ key }) => {
    if (key === 'F9') stop()
    if (key === 'F8') inTwentySeconds()
  })
}

/**
 * Fills in a form: ticks what must be ticked or is `on` in the fields, gives each visible field its text, and what is required and empty any.
 * Returns the id of the form, empty for none.
 */
export function fillIn(form, fields) {
  for (const element of form.elements) {
    const { type, name, required, value } = element
    if (type === 'checkbox') element.checked ||= required || fields[name] === 'on'
    else if (type !== 'hidden' && fields[name] !== undefined) element.value = fields[name]
    else if (required && value === '') element.value = 'their statement'
  }
  return form.id
}
