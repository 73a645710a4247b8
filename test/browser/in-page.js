// Functions that run inside a page of the browser and look at what it shows; they must not change it.

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

/** Height of an element, in pixels. */
export function heightOf(element) {
  return element.getBoundingClientRect().height
}

/** Returns whether the rules of axe are in the page. */
export function hasRules() {
  return window.axe !== undefined
}

/** What of the page breaks rules with one of these tags: the rule, and the elements that break it. */
export async function violations(tags) {
  const found = await window.axe.run(document, {
    runOnly: tags,
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
