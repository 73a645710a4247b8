// The console in a real browser: by keyboard, for every eye, on a phone and a wide screen, in the dark, under a flood of changes.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, launchChromium } from '../browser/chromium.ts'
import {
  expectAccessible,
  expectNoSidewaysScroll,
  follow,
  type Visit,
  visit,
} from '../browser/visit.ts'
import { eventually } from '../support/eventually.ts'
import { passedOver } from '../support/system-program.ts'
import { type Harness, startHarness } from './harness.ts'

const chromium = await findChromium()
const maxBytes = 60 * 1024
const wide = { width: 1440, height: 900 }

describe.skipIf(chromium.missing !== undefined)(`in a browser${passedOver(chromium)}`, () => {
  let harness: Harness
  let browser: Browser
  let tab: Visit
  beforeAll(async () => {
    harness = await startHarness()
    browser = await launchChromium(chromium)
    tab = await visit(browser)
    await tab.page.goto(harness.link)
    await follow(tab.page, () => tab.page.getByRole('link', { name: 'Ama Mensah' }).click())
  })
  afterAll(async () => {
    await browser?.close()
    await harness?.close()
  })

  const base = () => `/projects/${harness.peers.projects.demo.projectId}`
  const pages = {
    'the projects': () => '/',
    'the pushes': () => `${base()}/pushes`,
    'one push': () => `${base()}/pushes/${harness.peers.projects.demo.delivery.deliveryId}`,
    'a replay': () => `${base()}/pushes/replays/${harness.peers.projects.demo.job.jobId}`,
    'the payments': () => `${base()}/payments`,
    'the receivers': () => `${base()}/receivers`,
    'the developers': () => `${base()}/developers`,
    'the balances': () => `${base()}/balances`,
    'the inbox': () => '/inbox',
    'what is stuck': () => '/stuck',
    'the ledger': () =>
      `/ledger?project=${harness.peers.staff.projectId}&id=${harness.peers.staff.transferId}`,
    'the catalogue': () => '/catalogue',
    'the audit': () => '/audit',
    'the calls of people': () => '/audit/calls',
    'a payment': () => `${base()}/payments/${harness.peers.projects.demo.payment.paymentId}`,
    'a page that does not exist': () => '/nowhere',
  }

  async function open(path: string): Promise<Visit['page']> {
    tab.forget()
    await tab.page.goto(new URL(path, harness.url).href)
    return tab.page
  }

  it.each(Object.entries(pages))(
    'the page of %s is small, accessible and of one origin, in the light on a phone and in the dark on a wide screen',
    async (_, path) => {
      const page = await open(path())
      expect(await page.evaluate('window.hacked')).toBeUndefined()
      expect(tab.origins()).toEqual([harness.url])
      expect(tab.complaints().filter((text) => !text.includes('404'))).toEqual([])
      expect(await tab.weightBytes()).toBeLessThan(maxBytes)
      await expectAccessible(page)
      await expectNoSidewaysScroll(page)
      await page.setViewportSize(wide)
      await page.emulateMedia({ colorScheme: 'dark' })
      await expectAccessible(page)
      await page.emulateMedia({ colorScheme: 'light' })
    },
  )

  it('keys search, walk a list and open a row', async () => {
    const page = await open(pages['the pushes']())
    await page.keyboard.press('j')
    await follow(page, () => page.keyboard.press('Enter'))
    expect(page.url()).toBe(new URL(pages['one push'](), harness.url).href)
    await page.keyboard.press('/')
    await page.keyboard.type(harness.peers.projects.demo.payment.paymentId)
    await follow(page, () => page.keyboard.press('Enter'))
    expect(page.url()).toBe(new URL(pages['a payment'](), harness.url).href)
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('times are those of the browser, with UTC beside them', async () => {
    const context = { locale: 'en-US', timezoneId: 'America/Port_of_Spain' }
    const other = await visit(browser, context)
    await other.page.context().addCookies(await tab.page.context().cookies())
    await other.page.goto(new URL(pages['a payment'](), harness.url).href)
    const time = other.page.locator('time').first()
    expect(await time.textContent()).toContain('Jan 1, 2026, 11:04:05')
    expect(await time.getAttribute('title')).toBe('2026-01-02 03:04:05 UTC')
    await other.close()
  })

  it('a live tail shows the newest of a flood, and stands still when it is paused', async () => {
    const page = await open(`${base()}/pushes/tail`)
    const first = page.locator('#tail tbody tr').first()
    await eventually(async () => expect(await first.textContent()).toContain('1000'))
    expect(await page.locator('#tail tbody tr').count()).toBe(200)
    await page.getByRole('button', { name: 'Pause' }).click()
    expect(await page.getByRole('button', { name: 'Pause' }).getAttribute('aria-pressed')).toBe(
      'true',
    )
    await expectAccessible(page)
  })

  it('a part that changes by itself is renewed without a reload', async () => {
    const { job } = harness.peers.projects.demo
    const page = await open(pages['a replay']())
    expect(await page.locator('#live').textContent()).toContain('7 pushes')
    job.replayedCount = 8n
    await page.getByText('8 pushes').waitFor()
    job.replayedCount = 7n
  })

  it('every page but the live tail works without JavaScript', async () => {
    const plain = await visit(browser, { javaScriptEnabled: false })
    await plain.page.context().addCookies(await tab.page.context().cookies())
    await plain.page.goto(new URL(pages['the pushes'](), harness.url).href)
    await plain.page.getByLabel('State').selectOption('exhausted')
    await follow(plain.page, () => plain.page.getByRole('button', { name: 'Filter' }).click())
    expect(plain.page.url()).toContain('state=exhausted')
    await follow(plain.page, () => plain.page.locator('a.row').first().click())
    await follow(plain.page, () => plain.page.getByRole('button', { name: 'Resend' }).click())
    await plain.page.getByText('A new round has begun').waitFor()
    await plain.close()
  })
})
