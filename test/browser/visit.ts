// Opens pages in a browser and records what they load and which errors they log. Nothing specific to a page here.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { expect } from 'vitest'
import { focused, hasRules, noteKinds, reachable, violations, widths } from './in-page.js'

/** The width that the pages are made for first, and the least that they must fit. */
export const phone = { width: 390, height: 844 }
const narrow = { width: 320, height: 640 }

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
/** All rules that axe has by default. */
export const everyRule = [...rules, 'best-practice']
/** The rules of these that depend on colours. */
const colourRules = ['color-contrast', 'link-in-text-block']
/** The rules of these that depend on where things are. */
const layoutRules = ['scrollable-region-focusable', 'target-size']

/** A tab and what has been seen in it since `forget`. */
export type Visit = {
  page: Page
  /** Origins of everything that was asked for. */
  origins: () => string[]
  /** Errors and warnings of the console, and of scripts. */
  complaints: () => string[]
  /** Every byte that came, with headers, but for what frames loaded. */
  weightBytes: () => Promise<number>
  forget: () => void
  close: () => Promise<void>
}

/** Opens a tab with a phone's width, without any address of the Internet. */
export async function visit(browser: Browser, more: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: phone, locale: 'en-US', ...more })
  const page = await context.newPage()
  const requests: { origin: string; bytes: Promise<number> }[] = []
  const complaints: string[] = []
  page.on('console', (message) => {
    // A browser looks for an icon by itself where a page, such as a PDF, cannot name one.
    const isIcon = message.location().url.endsWith('/favicon.ico')
    if (/error|warning/.test(message.type()) && !isIcon) complaints.push(message.text())
  })
  page.on('pageerror', (error) => void complaints.push(String(error)))
  page.on('request', (request) => {
    // A stream ends long after the page is there.
    const isCounted =
      request.frame() === page.mainFrame() && request.resourceType() !== 'eventsource'
    const bytes = async () => {
      if (!isCounted || (await request.response()) === null) return 0
      const { responseBodySize, responseHeadersSize } = await request.sizes()
      return responseBodySize + responseHeadersSize
    }
    requests.push({ origin: new URL(request.url()).origin, bytes: bytes().catch(() => 0) })
  })
  return {
    page,
    origins: () => [...new Set(requests.map(({ origin }) => origin))],
    complaints: () => [...complaints],
    async weightBytes() {
      const sizes = await Promise.all(requests.map(({ bytes }) => bytes))
      return sizes.reduce((sum, size) => sum + size, 0)
    },
    forget() {
      requests.length = 0
      complaints.length = 0
    },
    close: () => context.close(),
  }
}

/** Opens a page without its scripts. What tests run in the page afterwards needs scripts, and has them. */
export async function withoutScripts<T>(session: CDPSession, open: () => Promise<T>): Promise<T> {
  const setScripts = 'Emulation.setScriptExecutionDisabled'
  await session.send(setScripts, { value: true })
  const opened = await open()
  await session.send(setScripts, { value: false })
  return opened
}

/** Does something that leads to another page, and waits for that. */
export async function follow(page: Page, act: () => Promise<void>): Promise<void> {
  await Promise.all([page.waitForEvent('load'), act()])
}

/**
 * Holds a page against WCAG 2.2 AA, or against rules with other tags. Frames are of other origins, and not ours. The rules are read once for a page, though it is
 * looked at in many ways: reading them takes as long as a look.
 */
export async function expectAccessible(page: Page, tags = rules): Promise<void> {
  if (!(await page.evaluate(hasRules))) await page.evaluate(axe)
  const runOnly = { type: 'tag', values: tags }
  expect(await page.evaluate(violations, { runOnly, without: colourRules })).toEqual([])
  await expectReadable(page)
}

/** Holds a page that is accessible against the rules that another width or theme can break. */
export async function expectStillAccessible(page: Page): Promise<void> {
  const runOnly = { type: 'rule', values: layoutRules }
  expect(await page.evaluate(violations, { runOnly })).toEqual([])
  await expectReadable(page)
}

/** Holds a page that is accessible against the rules that another theme of the same layout can break. */
export async function expectReadable(page: Page): Promise<void> {
  await page.evaluate(noteKinds)
  const runOnly = { type: 'rule', values: colourRules }
  expect(await page.evaluate(violations, { runOnly, ofKinds: true })).toEqual([])
}

/** Nothing is cut off or must be moved sideways, on an ordinary phone and on the narrowest. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  for (const { width } of [narrow, phone]) await expectFits(page, width)
  await page.setViewportSize(phone)
}

/** Nothing must be moved sideways at a width, in pixels. */
export async function expectFits(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: phone.height })
  const { scrollWidth, clientWidth } = await page.evaluate(widths)
  expect(scrollWidth, `at ${width} pixels`).toBeLessThanOrEqual(clientWidth)
}

/** Everything that a keyboard must reach, in the order of the page. */
export function stopsOf(page: Page): Promise<string[]> {
  return page.evaluate(reachable)
}

/** Walks through a page by the Tab key alone. Returns each stop, and whether its focus is visible. */
export async function walk(
  page: Page,
  stops: number,
): Promise<Awaited<ReturnType<typeof focused>>[]> {
  const walked = []
  for (let stop = 0; stop < stops; stop += 1) {
    await page.keyboard.press('Tab')
    walked.push(await page.evaluate(focused))
  }
  return walked
}
