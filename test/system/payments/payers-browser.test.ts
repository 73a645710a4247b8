// Payers with a real browser at the running system: by hand without JavaScript, by card in the frame, at an agent.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, launchChromium } from '../../browser/chromium.ts'
import { follow, visit } from '../../browser/visit.ts'
import { passedOver } from '../../support/system-program.ts'
import { merchant, order, payer, sharedMesh } from '../harness.ts'
import { collectCash } from './browser.ts'

const chromium = await findChromium()
const mesh = sharedMesh()
const shop = merchant(mesh)
const { base_url: baseUrl, simulator_url: simulatorUrl } = mesh.sandbox
const withinMs = 30_000

describe.skipIf(chromium.missing !== undefined)(`a payer${passedOver(chromium)}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(chromium)
  })
  afterAll(() => browser?.close())

  it('one payer pays their share by hand; the other sees it, pays by card, and goes back', async () => {
    const success = `${simulatorUrl}/agent`
    const { id, urls } = await shop.create(
      order({
        amount: '160.00',
        payers: [payer(20, { amount: '100.00' }), payer(21, { amount: '60.00' })],
        urls: { success },
      }),
    )
    const [firstUrl = '', secondUrl = ''] = urls
    const other = await visit(browser)
    // What changes is heard by the stream alone.
    await other.page.route(/\/state$/, (route) => route.fulfill({ status: 204 }))
    await other.page.goto(secondUrl)
    const byHand = await visit(browser, { javaScriptEnabled: false })
    await byHand.page.goto(firstUrl)
    await byHand.page.getByLabel('Wallet PIN').fill('123456')
    await follow(byHand.page, () => byHand.page.getByRole('button', { name: /^Pay / }).click())
    await byHand.page.getByText('100.00 TTD of 160.00 TTD has been paid.').waitFor()

    const { page } = other
    const shown = '100.00 TTD of 160.00 TTD is paid. Your share is 60.00 TTD.'
    await page.locator('#state').getByText(shown).waitFor({ timeout: withinMs })
    await follow(page, () => page.getByRole('link', { name: 'Pay by card instead' }).click())
    const form = page.frameLocator('iframe')
    await form.getByLabel('Card number').fill('4242 4242 4242 4242')
    await form.getByLabel('Expiry date (MM/YY)').fill('12/39')
    await form.getByLabel('Security code').fill('123')
    // The frame may be resized just then, and a click would miss it: by the keyboard.
    await form.getByRole('button').press('Enter')
    await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor({ timeout: withinMs })
    await shop.stateIs(id, 'paid')
    expect(other.origins()).toEqual([new URL(baseUrl).origin, new URL(simulatorUrl).origin])
    await follow(page, () => page.getByRole('link', { name: 'Back to shop' }).click())
    expect(page.url()).toBe(success)
    for (const { complaints, close } of [other, byHand]) {
      expect(complaints()).toEqual([])
      await close()
    }
  }, 90_000)

  it('a payer at an agent shows a code, and sees by himself that it was collected', async () => {
    const cash = payer(20, { payment_channel: 'agent', payment_method: 'cash' })
    const { urls } = await shop.create(order({ payers: [cash] }))
    const { page, complaints, close } = await visit(browser)
    await page.goto(urls[0] ?? '')
    const code = await page.locator('.code').innerText()
    await collectCash(mesh, code.replaceAll(/\D/g, ''))
    await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor({ timeout: withinMs })
    expect(complaints()).toEqual([])
    await close()
  }, 60_000)
})
