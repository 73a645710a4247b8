// The documentation site in a real browser: accessible in both themes, searchable, and readable without JavaScript.
import fs from 'node:fs'
import path from 'node:path'
import type { Browser, CDPSession } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPages } from '../edge/stand-ins/checkout.ts'
import { passedOver } from '../support/system-program.ts'
import { findChromium, launchChromium } from './chromium.ts'
import {
  everyRule,
  expectAccessible,
  expectNoSidewaysScroll,
  expectReadable,
  type Visit,
  visit,
  withoutScripts,
} from './visit.ts'

const chromium = await findChromium()
const wide = { width: 1280, height: 800 }
const names = fs
  .globSync('*.html', { cwd: path.join(import.meta.dirname, '../../docs/site') })
  .map((file) => file.replace('.html', ''))
  .map((name) => (name === 'index' ? 'docs' : `docs/${name}`))
  .toSorted()

describe.skipIf(chromium.missing !== undefined)(`in a browser${passedOver(chromium)}`, () => {
  let browser: Browser
  let tab: Visit
  let session: CDPSession
  let pages: Awaited<ReturnType<typeof startPages>>
  beforeAll(async () => {
    pages = await startPages()
    browser = await launchChromium(chromium)
    tab = await visit(browser, { viewport: wide })
    session = await tab.page.context().newCDPSession(tab.page)
  })
  afterAll(async () => {
    await browser?.close()
    await pages?.close()
  })

  it.each(names)(
    'in a browser, /%s is accessible in both themes, fits a phone, and reads the same without JavaScript',
    async (name) => {
      const { page } = tab
      const go = () => page.goto(`${pages.origin}/${name}`)
      const main = page.locator('main')
      await page.emulateMedia({ colorScheme: 'light' })
      await withoutScripts(session, go)
      const plain = await main.innerText()
      expect(plain.length).toBeGreaterThan(200)
      await go()
      expect(await main.innerText()).toBe(plain)
      await expectAccessible(page, everyRule)
      await page.emulateMedia({ colorScheme: 'dark' })
      await expectReadable(page)
      await expectNoSidewaysScroll(page)
      await page.setViewportSize(wide)
      expect(tab.complaints()).toEqual([])
      expect(tab.origins()).toEqual([pages.origin])
    },
    60_000,
  )

  it('in a browser, /docs/try-it is accessible, with an operation open', async () => {
    const { page, complaints, close } = await visit(browser, { viewport: wide })
    await page.goto(`${pages.origin}/docs/try-it#/Quotes/createQuote`)
    const operation = page.locator('#operations-Quotes-createQuote')
    // The viewer reads a large document first.
    await operation.getByRole('button', { name: 'Try it out' }).click({ timeout: 60_000 })
    await operation.getByRole('button', { name: 'Execute' }).waitFor()
    await expectAccessible(page, everyRule)
    expect(complaints()).toEqual([])
    await close()
  }, 120_000)

  it('in a browser, the search of the documentation leads to a section, by the keyboard alone', async () => {
    const { page } = tab
    await page.goto(`${pages.origin}/docs`)
    await page.keyboard.press('/')
    await page.keyboard.type('payment_not_refund')
    await page.getByRole('link', { name: 'PAYMENT_NOT_REFUNDABLE' }).first().waitFor()
    await expectAccessible(page, everyRule)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${pages.origin}/docs/errors#PAYMENT_NOT_REFUNDABLE`)
  })

  it('in a browser, a link to an operation of the page that /docs was still leads to it', async () => {
    const { page } = tab
    await page.goto(`${pages.origin}/docs#/Quotes/createQuote`, { waitUntil: 'commit' })
    await page.waitForURL(/\/docs\/try-it#/, { waitUntil: 'commit' })
    expect(new URL(page.url()).hash).toBe('#/Quotes/createQuote')
  })

  it('in a browser, a language that a reader chose is shown on every page', async () => {
    const { page } = tab
    await page.goto(`${pages.origin}/docs/accept-a-payment`)
    await page.getByText('Python', { exact: true }).first().click()
    await page.goto(`${pages.origin}/docs/idempotency`)
    const shown = page.locator('.sample:visible')
    const languages = await shown.evaluateAll((all) => all.map((one) => one.dataset['language']))
    expect(new Set(languages)).toEqual(new Set(['Python']))
  })

  it('in a browser without JavaScript, pages have their text, and samples a choice of the language', async () => {
    const plain = await visit(browser, { javaScriptEnabled: false })
    await plain.page.goto(`${pages.origin}/docs/accept-a-payment`)
    await plain.page.getByText('PHP', { exact: true }).first().click()
    expect(await plain.page.locator('.sample:visible').first().innerText()).toContain('payweave(')
    expect(await plain.page.getByRole('searchbox').count()).toBe(0)
    await plain.page.goto(`${pages.origin}/docs/reference-quotes`)
    expect(await plain.page.locator('main').innerText()).toContain('POST /quote')
    await plain.close()
  })
})
