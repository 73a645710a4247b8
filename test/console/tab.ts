// A tab of Chromium in which Ama, an administrator, is signed in to the console, and what every page must be there.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { findChromium, launchChromium } from '../browser/chromium.ts'
import { atEnd, followFocus, noteFocus } from '../browser/in-page.js'
import {
  expectAccessible,
  expectFits,
  expectNoSidewaysScroll,
  follow,
  phone,
  type Visit,
  visit,
} from '../browser/visit.ts'
import { passedOver } from '../support/system-program.ts'
import { type Harness, startHarness } from './harness.ts'
import type { Texts } from './rows.ts'

const chromium = await findChromium()
const maxBytes = 60 * 1024
/** A small phone, a usual screen and one of 4k. The last is the one in which the dark is looked at. */
const widthsPx = [360, 3_840, 1_440]
/** Keys that are pressed before the page is asked how far it came, and at most. */
const keysAtOnce = 15
const maxKeys = 600

/** A console, a browser and the tab in it. */
export type Tab = Visit & {
  harness: Harness
  browser: Browser
  /** Opens a path of the console. */
  open: (path: string) => Promise<Visit['page']>
}

/** Runs tests that share one tab, in a console with these texts; passes over them where there is no Chromium. */
export function describeInTab(tests: (tab: () => Tab) => void, texts?: Texts): void {
  describe.skipIf(chromium.missing !== undefined)(`in a browser${passedOver(chromium)}`, () => {
    let harness: Harness
    let browser: Browser
    let tab: Tab
    beforeAll(async () => {
      harness = await startHarness(texts)
      browser = await launchChromium(chromium)
      const opened = await visit(browser)
      const { page, forget } = opened
      await page.goto(harness.link)
      await follow(page, () => page.getByRole('link', { name: 'Ama Mensah' }).click())
      const open = async (path: string) => {
        forget()
        await page.goto(new URL(path, harness.url).href)
        return page
      }
      tab = { ...opened, harness, browser, open }
    })
    afterAll(async () => {
      await browser?.close()
      await harness?.close()
    })
    tests(() => tab)
  })
}

/** Where pages of the demo project are. */
export function projectBase({ harness }: Tab): string {
  return `/projects/${harness.peers.projects.demo.projectId}`
}

/**
 * Expects a page to be small, accessible and of one origin, to run no text as a script and to fit each width: in the light on a
 * phone, and in the dark on a wide screen.
 */
export async function expectSoundPage(tab: Tab, path: string): Promise<void> {
  const page = await tab.open(path)
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  expect(tab.origins()).toEqual([tab.harness.url])
  expect(tab.complaints().filter((text) => !text.includes('404'))).toEqual([])
  expect(await tab.weightBytes()).toBeLessThan(maxBytes)
  await expectAccessible(page)
  await expectNoSidewaysScroll(page)
  for (const width of widthsPx) await expectFits(page, width)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(phone)
}

/**
 * Expects the Tab key alone to reach everything of a part of the page that can be used, in the order in which it stands, each with a
 * ring and in the window, and to lead out of it again.
 */
export async function expectKeyboardReachesAll(page: Visit['page'], part = 'main'): Promise<void> {
  const stops = await page.evaluate(noteFocus, part)
  for (let keys = 0; !(await page.evaluate(atEnd)); keys += keysAtOnce) {
    expect(keys, 'the keyboard leaves the page').toBeLessThan(maxKeys)
    for (let key = 0; key < keysAtOnce; key += 1) await page.keyboard.press('Tab')
  }
  const { walked, unseen } = await page.evaluate(followFocus)
  expect(walked).toEqual(stops)
  expect(unseen).toEqual([])
}

/**
 * Expects `j` and `k` to move over the rows of all tables of a page that have something to use: to the first link of each, or to the row
 * itself, never to a button.
 */
export async function expectKeysMoveOverRows(page: Visit['page']): Promise<void> {
  const rows = page.locator('main tbody tr:has(a[href], button)')
  const count = Math.min(await rows.count(), 3)
  await page.evaluate('document.activeElement?.blur()')
  const press = async (key: string, at: number) => {
    await page.keyboard.press(key)
    const row = rows.nth(at)
    const links = row.locator('a[href]')
    const wanted = (await links.count()) > 0 ? links.first() : row
    const focused = wanted.and(page.locator(':focus'))
    expect(await focused.count(), `row ${at} after ${key}`).toBe(1)
  }
  for (let at = 0; at < count; at += 1) await press('j', at)
  for (let at = count - 2; at >= 0; at -= 1) await press('k', at)
}
