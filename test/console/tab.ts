// A tab of Chromium in which Ama, an administrator, is signed in to the console, and what every page must be there.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { findChromium, launchChromium } from '../browser/chromium.ts'
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

const chromium = await findChromium()
const maxBytes = 60 * 1024
const widePx = 1440

/** A console, a browser and the tab in it. */
export type Tab = Visit & {
  harness: Harness
  browser: Browser
  /** Opens a path of the console. */
  open: (path: string) => Promise<Visit['page']>
}

/** Runs tests that share one tab; passes over them where there is no Chromium. */
export function describeInTab(tests: (tab: () => Tab) => void): void {
  describe.skipIf(chromium.missing !== undefined)(`in a browser${passedOver(chromium)}`, () => {
    let harness: Harness
    let browser: Browser
    let tab: Tab
    beforeAll(async () => {
      harness = await startHarness()
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
 * Expects a page to be small, accessible and of one origin, and to run no text as a script: in the light on a phone, and
 * in the dark on a wide screen.
 */
export async function expectSoundPage(tab: Tab, path: string): Promise<void> {
  const page = await tab.open(path)
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  expect(tab.origins()).toEqual([tab.harness.url])
  expect(tab.complaints().filter((text) => !text.includes('404'))).toEqual([])
  expect(await tab.weightBytes()).toBeLessThan(maxBytes)
  await expectAccessible(page)
  await expectNoSidewaysScroll(page)
  await expectFits(page, widePx)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(phone)
}
