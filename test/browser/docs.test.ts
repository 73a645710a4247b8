// The API's documents as a developer's browser shows them, without asking anybody else.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contractVersions } from '#core/contract-version.ts'
import { type EdgeFixture, startEdge } from '../edge/fixture.ts'
import { findChromium, launchChromium, passedOver } from './chromium.ts'
import { expectNoSidewaysScroll, type Visit, visit } from './visit.ts'

const chromium = await findChromium()
const wide = { width: 1280, height: 800 }

describe.skipIf(chromium.missing !== undefined)(`the documents${passedOver(chromium)}`, () => {
  let browser: Browser
  let edge: EdgeFixture
  let tab: Visit
  beforeAll(async () => {
    edge = await startEdge()
    browser = await launchChromium(chromium)
    tab = await visit(browser, { viewport: wide })
  })
  afterAll(async () => {
    await browser?.close()
    await edge?.close()
  })

  it('/docs shows every version, asks nobody else and complains of nothing', async () => {
    const { page } = tab
    await page.goto(`${edge.url}/docs`)
    const shown = []
    for (const version of contractVersions) {
      await page.getByLabel('Select a definition').selectOption({ label: version })
      await page.locator('.info .version').filter({ hasText: version }).first().waitFor()
      shown.push(await page.locator('.opblock-summary-path').allInnerTexts())
    }
    expect(shown[0]).toContainEqual(expect.stringContaining('/payments/request'))
    expect(shown[1]).toContainEqual(expect.stringContaining('/bill_payments/pay'))
    expect(await page.locator('.topbar a').innerText()).toBe('Payweave API')
    await page.locator('.opblock-summary-control').first().click()
    await page.getByRole('button', { name: 'Try it out' }).waitFor()
    expect(tab.origins()).toEqual([edge.url])
    expect(tab.complaints()).toEqual([])
    // The viewer is large, and has to read everything anew for each version.
  }, 60_000)

  it('/docs fits a phone', async () => {
    await expectNoSidewaysScroll(tab.page)
    expect(tab.complaints()).toEqual([])
  })

  it.each(contractVersions)('/openapi.json of %s is shown as it is', async (version) => {
    tab.forget()
    const answer = await tab.page.goto(`${edge.url}/openapi.json?version=${version}`)
    expect(await answer?.json()).toMatchObject({ openapi: '3.1.0', info: { version } })
    expect(await tab.page.locator('body').innerText()).toContain(version)
    expect(tab.origins()).toEqual([edge.url])
    expect(tab.complaints()).toEqual([])
  })
})
