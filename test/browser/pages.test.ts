// Payers' pages and the API's documents in a real browser: what payers do with them, by keyboard, on paper, without JavaScript.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contractVersions } from '#core/text/contract-version.ts'
import { directionOf, languageCodes } from '#core/text/language.ts'
import { printReceipt } from '#platform/pdf/print.ts'
import { languages } from '../../gateway/pages/language.ts'
import { errorUrl, successUrl } from '../../gateway/pages/preview/samples.ts'
import { receiptOfBill } from '../../services/billing/domain/receipt.ts'
import { decliningPin, receiptLink, startPages } from '../edge/stand-ins/checkout.ts'
import { eventually } from '../support/eventually.ts'
import { passedOver } from '../support/system-program.ts'
import { findChromium, launchChromium } from './chromium.ts'
import { letterSizePx, notePrinting, showsPdf, uncheck } from './in-page.js'
import { shopPage } from './stand-in-pages.ts'
import {
  expectAccessible,
  expectNoSidewaysScroll,
  follow,
  phone,
  stopsOf,
  type Visit,
  visit,
  walk,
} from './visit.ts'

const chromium = await findChromium()
/** A4, in the pixels of style sheets. */
const paper = { width: 794, height: 1123 }
const wide = { width: 1280, height: 800 }
const { en } = languages
const paid = { payer: 'paid', payment: 'paid' } as const
const receipt = {
  receiptId: '123456789012',
  transactionId: '0198c000-0000-7000-8000-0000000000aa',
  amountMinor: 2_500n,
  currency: 'USD',
  billerName: 'Demo Water',
  productName: 'Bill',
  customerReference: 'W1234567',
  externalReference: undefined,
  clientReceiptId: undefined,
  endTime: new Date('2026-01-02T03:04:05Z'),
}

describe.skipIf(chromium.missing !== undefined)(`in a browser${passedOver(chromium)}`, () => {
  let browser: Browser
  let tab: Visit
  let pages: Awaited<ReturnType<typeof startPages>>
  beforeAll(async () => {
    pages = await startPages(
      {},
      Buffer.from(await printReceipt(receipt.receiptId, receiptOfBill(receipt, true))),
    )
    browser = await launchChromium(chromium)
    tab = await visit(browser)
    await tab.page.route('https://shop.example/**', shopPage)
  })
  afterAll(async () => {
    await browser?.close()
    await pages?.close()
  })

  /** Opens an address in the tab that tests share. */
  async function open(url: string): Promise<Visit['page']> {
    tab.forget()
    await tab.page.goto(url)
    return tab.page
  }

  it('in a browser, a payer opens the receipt, prints it and has it as PDF', async () => {
    const page = await open(`${pages.page(paid).url}?lang=fr`)
    await follow(page, () => page.getByRole('link', { name: languages.fr.openReceipt }).click())
    expect(await page.locator('html').getAttribute('lang')).toBe('fr')
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize(paper)
    const code = await page.getByRole('img', { name: languages.fr.receiptQr }).boundingBox()
    expect(code?.height).toBeGreaterThanOrEqual(150)
    expect(await page.locator('nav, button, .row').filter({ visible: true }).count()).toBe(0)
    await page.emulateMedia({ media: 'screen' })
    await page.setViewportSize(phone)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: languages.fr.downloadReceipt }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^[\w-]+\.pdf$/)
    expect(
      readFileSync(await download.path())
        .subarray(0, 8)
        .toString(),
    ).toBe('%PDF-1.7')
  })

  it.each(languageCodes)(
    'an open page in %s is accessible, in the direction of its language',
    async (code) => {
      const page = await open(`${pages.page({ refusedAttempts: 1 }).url}?lang=${code}`)
      await expectAccessible(page)
      await expectNoSidewaysScroll(page)
      const isRightToLeft = directionOf(code) === 'rtl'
      const row = page.locator('dl div').first()
      const [name, value] = await Promise.all([
        row.locator('dt').boundingBox(),
        row.locator('dd').boundingBox(),
      ])
      expect((name?.x ?? 0) > (value?.x ?? 0)).toBe(isRightToLeft)
      // A figure is read from left to right everywhere.
      const figure = await page.locator('.total bdi').boundingBox()
      const unit = await page.locator('.unit').boundingBox()
      expect(unit?.x ?? 0).toBeGreaterThan(figure?.x ?? 0)
      expect(tab.complaints()).toEqual([])
    },
  )

  it.each([
    ['pay', en.notFoundTitle],
    ['receipts', en.receiptNotFoundTitle],
  ])('in a browser, /%s/<unknown> is a page that says so', async (path, title) => {
    const page = await open(`${pages.origin}/${path}/${randomBytes(32).toString('base64url')}`)
    expect(await page.locator('h1').innerText()).toBe(title)
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    expect(tab.origins()).toEqual([pages.origin])
    expect(tab.complaints()).toEqual([expect.stringContaining('404 (Not Found)')])
  })

  it('in a browser, the keyboard reaches everything, in order, and one sees where it is', async () => {
    for (const shown of [{}, { channel: 'agent', method: 'cash' } as const]) {
      const page = await open(pages.page({ ...shown, payer: 'Pending' }).url)
      const stops = await stopsOf(page)
      const walked = await walk(page, stops.length)
      expect(walked.map(({ name }) => name)).toEqual(stops)
      for (const stop of walked) {
        expect(stop).toMatchObject({ hasRing: true, isSeen: true })
        expect(stop.height, stop.name).toBeGreaterThanOrEqual(44)
      }
    }
  })

  it('in a browser, a malformed PIN is reported at the top, with a link to the field, and at the field', async () => {
    const { page, close } = await visit(browser, { javaScriptEnabled: false })
    await page.goto(pages.page({}).url)
    await page.locator('form').evaluate(uncheck)
    await page.getByLabel(en.pinLabel).fill('12')
    await follow(page, () => page.keyboard.press('Enter'))
    const field = page.getByLabel(en.pinLabel)
    expect(await page.title()).toContain(en.mistakeTitle)
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    await page.getByRole('alert').getByRole('link').click()
    expect(await field.evaluate((element) => element.matches(':focus, :target'))).toBe(true)
    await close()
  })

  it('in a browser without JavaScript a payer is refused, tries again, pays and goes back', async () => {
    const { page, complaints, close } = await visit(browser, { javaScriptEnabled: false })
    await page.route('https://shop.example/**', shopPage)
    await page.goto(pages.page({}).url)
    await page.getByLabel(en.pinLabel).fill(decliningPin)
    await follow(page, () => page.getByRole('button', { name: 'Pay 102.90 TTD' }).click())
    expect(await page.getByRole('alert').innerText()).toContain('You were not charged.')
    await page.getByLabel(en.pinLabel).fill('123456')
    await follow(page, () => page.keyboard.press('Enter'))
    expect(await page.locator('h1').innerText()).toBe(en.paidTitle)
    await follow(page, () => page.getByRole('link', { name: 'Back to shop' }).click())
    expect(page.url()).toBe(successUrl)
    expect(complaints()).toEqual([])
    await close()
  })

  it('in a browser without JavaScript the page of a payment in process is looked at again by a button', async () => {
    const { page, close } = await visit(browser, { javaScriptEnabled: false })
    const payment = pages.page({ payer: 'Processing', description: 'in process' })
    await page.goto(payment.url)
    expect(await page.locator('#state').innerText()).toBe(en.processingText)
    payment.show({ ...paid, description: 'in process' })
    await follow(page, () => page.getByRole('link', { name: en.checkAgain }).click())
    expect(await page.locator('h1').innerText()).toBe(en.paidTitle)
    await close()
    await open(pages.page({ payer: 'Processing' }).url)
    expect(await tab.page.locator('#state').innerText()).toContain(en.updatesItself)
    expect(await tab.page.getByRole('link', { name: en.checkAgain }).count()).toBe(0)
  })

  it('in a browser, the return URL is the stored one, and query parameters cannot change it', async () => {
    const { url } = pages.page({ payer: 'Expired', payment: 'Expired' })
    const page = await open(`${url}?error=https://evil.example&success=//evil.example&url=x`)
    const asked = page.waitForRequest(errorUrl)
    await follow(page, () => page.getByRole('link', { name: 'Back to shop' }).click())
    expect((await asked).headers()).not.toHaveProperty('referer')
    expect(page.url()).toBe(errorUrl)
  })

  it('in a browser, a cash code is large, larger on paper, and there alone', async () => {
    const page = await open(pages.page({ channel: 'agent', method: 'cash' }).url)
    const sizePx = () => page.locator('.code').evaluate(letterSizePx)
    expect(await page.locator('.code').innerText()).toBe('1234\u00a05678\u00a09012')
    expect(await sizePx()).toBeGreaterThanOrEqual(30)
    await page.evaluate(notePrinting)
    await page.getByRole('button', { name: en.print }).click()
    expect(await page.title()).toBe('printed')
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize(paper)
    expect(await sizePx()).toBeGreaterThanOrEqual(48)
    expect(await page.locator('nav, button, .row').filter({ visible: true }).count()).toBe(0)
    await page.emulateMedia({ media: 'screen' })
    await page.setViewportSize(phone)
  })

  it('in a browser, a code at a point of sale is a picture in the page, and text', async () => {
    const { url } = pages.page({ channel: 'direct_pos', method: 'qr_code' })
    const page = await open(url)
    const picture = await page.getByRole('img', { name: en.qrLabel }).boundingBox()
    expect(picture?.height).toBeGreaterThanOrEqual(200)
    expect(await page.locator('.link').innerText()).toContain(new URL(url).pathname)
  })

  it('in a browser, a receipt is shown as it was printed', async () => {
    const { page, complaints, origins, close } = await visit(browser)
    const answer = await page.goto(`${pages.origin}/receipts/${receiptLink}`)
    expect(answer?.headers()).toMatchObject({ 'content-type': 'application/pdf' })
    // The browser's own viewer is in the page, which the page's policy lets through.
    await eventually(async () => expect(await page.locator('body').evaluate(showsPdf)).toBe(true))
    expect(origins()).toContain(pages.origin)
    expect(complaints()).toEqual([])
    await close()
  })

  it('in a browser, /docs/try-it shows every version, asks nobody else, and fits a phone', async () => {
    const { page, origins, complaints, close } = await visit(browser, { viewport: wide })
    await page.goto(`${pages.origin}/docs/try-it`)
    const paths = {
      '2024-10-01': '/payments/request',
      '2026-07-01': '/bill_payments/pay',
      '2026-12-01': '/payments/list',
    }
    for (const version of contractVersions) {
      const choice = page.getByLabel('Select a definition')
      if (version !== contractVersions[0]) await choice.selectOption({ label: version })
      await page.locator('.info .version').filter({ hasText: version }).first().waitFor()
      await page.locator('.opblock-summary-path', { hasText: paths[version] }).first().waitFor()
    }
    expect(await page.locator('.topbar a').innerText()).toBe('Payweave API')
    await page.locator('.opblock-summary-control').first().click()
    await page.getByRole('button', { name: 'Try it out' }).waitFor()
    await expectNoSidewaysScroll(page)
    expect(origins()).toEqual([pages.origin])
    expect(complaints()).toEqual([])
    await close()
    // The viewer is large, and reads everything anew for each version.
  }, 60_000)

  it.each(contractVersions)(
    'in a browser, /openapi.json of %s is shown as it is',
    async (version) => {
      tab.forget()
      const answer = await tab.page.goto(`${pages.origin}/openapi.json?version=${version}`)
      expect(await answer?.json()).toMatchObject({ openapi: '3.1.0', info: { version } })
      expect(await tab.page.locator('body').innerText()).toContain(version)
      expect(tab.origins()).toEqual([pages.origin])
      expect(tab.complaints()).toEqual([])
    },
  )
})
