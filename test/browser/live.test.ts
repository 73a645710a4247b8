// Payers' pages that change while they are open, in a real browser: what is typed stays, what has changed is said.
import type { Browser, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { languages } from '../../gateway/pages/language.ts'
import { slowCardForms, startPages } from '../edge/stand-ins/checkout.ts'
import { eventually } from '../support/eventually.ts'
import { passedOver } from '../support/system-program.ts'
import { findChromium, launchChromium } from './chromium.ts'
import {
  hearPhase,
  heightOf,
  hide,
  letterSizePx,
  noteSending,
  type SendingNote,
} from './in-page.js'
import { serveCardForm, shopPage } from './stand-in-pages.ts'
import { follow, type Visit, visit } from './visit.ts'

const chromium = await findChromium()
const { en } = languages
const shared = { othersMinor: 6_000n } as const
const partlyPaid = { ...shared, payment: 'Partially_paid', othersPaidMinor: 2_000n } as const
const allPaid = { ...shared, payment: 'paid', payer: 'paid', othersPaidMinor: 6_000n } as const
const expired = { payer: 'Expired', payment: 'Expired' } as const

describe.skipIf(chromium.missing !== undefined)(
  `a page that is open${passedOver(chromium)}`,
  () => {
    let browser: Browser
    let pages: Awaited<ReturnType<typeof startPages>>
    const visits: Visit[] = []
    beforeAll(async () => {
      pages = await startPages()
      browser = await launchChromium(chromium)
    })
    afterEach(async () => {
      Object.assign(pages.seen, { isSubscribed: true, isMute: false, wallet: undefined })
      for (const { complaints, close } of visits.splice(0)) {
        if (complaints().length > 0) throw new Error(`the console: ${complaints().join('; ')}`)
        await close()
      }
    })
    afterAll(async () => {
      await browser?.close()
      await pages?.close()
    })

    /** Opens a page of its own for a payment, in a tab of its own. */
    async function open(shown: Parameters<typeof pages.page>[0], query = '') {
      // Payments of one description change together, as the shares of one payment do.
      const payment = pages.page({ description: `Order ${visits.length}`, ...shown })
      const tab = await visit(browser)
      visits.push(tab)
      await serveCardForm(tab.page, pages.origin)
      await tab.page.route('https://shop.example/**', shopPage)
      const streamed = tab.page.waitForRequest(/\/events$/).catch(() => undefined)
      await tab.page.goto(`${payment.url}${query}`, { waitUntil: 'domcontentloaded' })
      await streamed
      return { payment, ...tab }
    }

    it('a page that is open says what others have paid, and that all is paid, and keeps focus', async () => {
      const { page, payment } = await open({ ...shared, description: 'alone' })
      await page.route('**/state', (route) => route.fulfill({ status: 204 }))
      const refresh = page.getByRole('link', { name: en.refresh })
      await refresh.focus()
      payment.show({ ...partlyPaid, description: 'alone' })
      await page.getByRole('progressbar').waitFor()
      expect(await page.getByRole('progressbar').getAttribute('value')).toBe('12')
      expect(await page.locator('#live').innerText()).toContain('20.00 TTD of 160.00 TTD')
      expect(await refresh.evaluate((element) => element.matches(':focus'))).toBe(true)
      payment.show({ ...allPaid, description: 'alone' })
      await page.getByRole('heading', { name: en.paidTitle, exact: true }).waitFor()
      expect(await page.title()).toContain(en.paidTitle)
      expect(await page.locator('h1').evaluate((element) => element.matches(':focus'))).toBe(true)
      expect(page.url()).toBe(payment.url)
    })

    it('a page that is open polls where there is no stream', async () => {
      pages.seen.isSubscribed = false
      const payment = pages.page({ description: 'polled' })
      const { page, close } = await visit(browser)
      await page.clock.install()
      const refused = page.waitForResponse(/\/events$/)
      await page.goto(payment.url)
      expect((await refused).status()).toBe(503)
      payment.show({ ...expired, description: 'polled' })
      await page.clock.fastForward(5_000)
      await page.getByRole('heading', { name: en.expiredTitle }).waitFor()
      await close()
    })

    it('a page that is open polls while its stream is silent: at first, and later', async () => {
      for (const isHeldUp of [true, false]) {
        const description = `held up ${isHeldUp}`
        const payment = pages.page({ description })
        const { page, close } = await visit(browser)
        await page.clock.install()
        // As a proxy that keeps what it should pass on; or as a connection that is half open.
        if (isHeldUp) await page.route('**/events', () => undefined)
        const opened = page.waitForRequest(/\/events$/)
        await page.goto(payment.url)
        await opened
        if (!isHeldUp) await page.evaluate(hearPhase, 'open')
        pages.seen.isMute = true
        payment.show({ ...expired, description })
        pages.seen.isMute = false
        await page.clock.fastForward(isHeldUp ? 5_000 : 45_000)
        await eventually(async () => {
          expect(await page.locator('h1').innerText()).toBe(en.expiredTitle)
        })
        await close()
      }
    })

    it('a page that polls tries the stream again', async () => {
      pages.seen.isSubscribed = false
      const payment = pages.page({ description: 'tried again' })
      const { page, close } = await visit(browser)
      await page.clock.install()
      const refused = page.waitForResponse(/\/events$/)
      await page.goto(payment.url)
      expect((await refused).status()).toBe(503)
      pages.seen.isSubscribed = true
      const again = page.waitForResponse(/\/events$/)
      let status: number | undefined
      void again.then((answer) => (status = answer.status()))
      await eventually(async () => {
        await page.clock.fastForward(10_000)
        expect(status).toBe(200)
      })
      await close()
    })

    it('a page that is hidden neither listens nor polls, even when a look was in flight', async () => {
      pages.seen.isSubscribed = false
      const payment = pages.page({ description: 'hidden' })
      const { page, close } = await visit(browser)
      await page.clock.install()
      const looks: Route[] = []
      await page.route('**/state', (route) => void looks.push(route))
      const refused = page.waitForResponse(/\/events$/)
      await page.goto(payment.url)
      await refused
      await page.clock.fastForward(4_000)
      await eventually(() => expect(looks).toHaveLength(1))
      await page.evaluate(hide)
      const looked = page.waitForResponse(/\/state$/)
      await looks[0]?.continue()
      await looked
      await page.clock.fastForward(60_000)
      await page.clock.fastForward(60_000)
      expect(looks).toHaveLength(1)
      await close()
    })

    /** Types a PIN and notes what the page shows from then on: while an answer is awaited, a browser can be asked nothing. */
    async function typePin({ page }: Pick<Visit, 'page'>): Promise<SendingNote[]> {
      const notes: SendingNote[] = []
      page.on('console', (message) => {
        if (message.type() === 'info') notes.push(JSON.parse(message.text()) as SendingNote)
      })
      await page.evaluate(noteSending)
      await page.getByLabel(en.pinLabel).fill('123456')
      return notes
    }

    it('while a wallet is slow the page says that it sends, keeps the answer, and pays once', async () => {
      const answered = Promise.withResolvers<void>()
      pages.seen.wallet = answered.promise
      const { page } = await open({ description: 'slow wallet' })
      const paidBefore = pages.seen.pins.length
      const notes = await typePin({ page })
      const heard = page.evaluate(hearPhase, 'processing')
      const paid = page.waitForEvent('load')
      await page.keyboard.press('Enter')
      // The attempt's own commit is a change too.
      await heard
      await page.keyboard.press('Enter')
      await eventually(() =>
        expect(notes.at(-1)).toEqual({ sending: en.sending, live: en.sending, changed: '' }),
      )
      answered.resolve()
      await paid
      expect(await page.locator('h1').innerText()).toBe(en.paidTitle)
      expect(notes.filter(({ changed }) => changed !== '')).toEqual([])
      expect(pages.seen.pins.length).toBe(paidBefore + 1)
    })

    it.each([
      ['by the browser', 'F9'],
      ['by the Escape key', 'Escape'],
      ['by no answer within 20 s', 'F8'],
    ])('a payment that is stopped %s can be sent again', async (how, key) => {
      const answered = Promise.withResolvers<void>()
      pages.seen.wallet = answered.promise
      const { page } = await open({ description: `stopped ${how}` })
      const notes = await typePin({ page })
      const isSending = () => notes.at(-1)?.sending === en.sending
      const paidBefore = pages.seen.pins.length
      await page.keyboard.press('Enter')
      await eventually(() => {
        expect(pages.seen.pins.length).toBe(paidBefore + 1)
        expect(isSending()).toBe(true)
      })
      await page.keyboard.press(key)
      await eventually(() => expect(isSending()).toBe(false))
      pages.seen.wallet = undefined
      await follow(page, () => page.keyboard.press('Enter'))
      expect(await page.locator('h1').innerText()).toBe(en.paidTitle)
      answered.resolve()
    })

    it('what a payer types stays when another pays, and when the request ends; the change is offered', async () => {
      const first = await open({ ...shared, description: 'two payers' })
      const second = await open({ ...shared, description: 'two payers' })
      const pin = first.page.getByLabel(en.pinLabel)
      await pin.pressSequentially('12')
      await second.page.getByLabel(en.pinLabel).fill('123456')
      await follow(second.page, () => second.page.getByRole('button', { name: /^Pay / }).click())
      first.payment.show({ ...partlyPaid, description: 'two payers' })
      const offered = first.page.getByRole('link', { name: en.showChange })
      await offered.waitFor()
      await pin.pressSequentially('34')
      expect(await pin.inputValue()).toBe('1234')
      first.payment.show({ ...shared, ...expired, description: 'two payers' })
      await eventually(async () => expect(await pin.inputValue()).toBe('1234'))
      await follow(first.page, () => offered.click())
      expect(await first.page.locator('h1').innerText()).toBe(en.expiredTitle)
    })

    it('an empty field that has focus keeps it, and the page changes once it is left', async () => {
      const { page, payment } = await open({ ...shared, description: 'focus' })
      await page.getByLabel(en.pinLabel).focus()
      payment.show({ ...partlyPaid, description: 'focus' })
      await page.getByRole('link', { name: en.showChange }).waitFor()
      expect(await page.getByRole('progressbar').count()).toBe(0)
      await page.locator('h1').click()
      await page.getByRole('progressbar').waitFor()
    })

    it('a card form that is filled in stays, after a decline too, and is as high as it needs', async () => {
      const { page, payment } = await open({ ...shared, method: 'card', description: 'card' })
      const frame = page.locator('iframe')
      const form = page.frameLocator('iframe')
      const needed = await form.locator('html').evaluate(heightOf)
      await eventually(async () => {
        expect(await frame.evaluate(heightOf)).toBeGreaterThanOrEqual(needed)
      })
      const number = form.getByLabel('Card number')
      await number.fill('4242')
      payment.show({ ...partlyPaid, method: 'card', description: 'card' })
      // The frame may be resized just then, and a click would miss it: by the keyboard.
      await form.getByRole('button').press('Enter')
      payment.show({ ...partlyPaid, method: 'card', refusedAttempts: 1, description: 'card' })
      await form.getByRole('link', { name: 'Try again' }).press('Enter')
      await number.fill('4000')
      payment.show({ ...partlyPaid, method: 'card', refusedAttempts: 2, description: 'card' })
      payment.show({ ...shared, ...expired, method: 'card', description: 'card' })
      await page.getByRole('link', { name: en.showChange }).waitFor()
      expect(await number.inputValue()).toBe('4000')
    })

    it('a card form is heard from its own origin alone', async () => {
      const { page } = await open({ method: 'card', description: 'foreign' })
      const frame = page.locator('iframe')
      await page.frameLocator('iframe').getByRole('button').waitFor()
      const before = await frame.evaluate(heightOf)
      await page.evaluate(
        'postMessage({ type: "payweave.card-form", height: 1500, state: "x" }, "*")',
      )
      await page
        .frameLocator('iframe')
        .locator('html')
        .evaluate('parent.postMessage({ type: "other", height: 1500 }, "*")')
      await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
      expect(await frame.evaluate(heightOf)).toBe(before)
    })

    it('a card form that is slow to open appears in a page that is there', async () => {
      const slow = Promise.withResolvers<void>()
      pages.seen.slowForm = slow.promise
      const { page } = await open({ method: 'card', description: slowCardForms })
      await page.getByRole('heading', { name: en.cardTitle }).waitFor()
      slow.resolve()
      const form = page.frameLocator('iframe').frameLocator('iframe')
      await form.getByLabel('Card number').fill('4242')
      const needed = await form.locator('html').evaluate(heightOf)
      await eventually(async () => {
        expect(await page.locator('iframe').evaluate(heightOf)).toBeGreaterThanOrEqual(needed)
      })
    })

    it('a payer who is offline sees that they are, and nothing is sent', async () => {
      const { page } = await open({ description: 'offline' })
      const pin = page.getByLabel(en.pinLabel)
      await pin.fill('123456')
      await page.context().setOffline(true)
      await page.getByRole('button', { name: /^Pay / }).click()
      await page.getByRole('alert').filter({ hasText: en.offline }).waitFor()
      expect(await pin.inputValue()).toBe('123456')
      await page.context().setOffline(false)
      visits[0]?.forget()
      await follow(page, () => page.getByRole('button', { name: /^Pay / }).click())
      expect(await page.locator('h1').innerText()).toBe(en.paidTitle)
    })

    it('a double click pays once; going back and reloading pay no more', async () => {
      const { page } = await open({ description: 'twice' })
      const paidBefore = pages.seen.pins.length
      await page.getByLabel(en.pinLabel).fill('123456')
      await follow(page, () => page.getByRole('button', { name: /^Pay / }).dblclick())
      await page.getByRole('heading', { name: en.paidTitle, exact: true }).waitFor()
      await page.reload()
      await page.goBack()
      await page.goForward()
      expect(await page.locator('h1').innerText()).toBe(en.paidTitle)
      expect(pages.seen.pins.length).toBe(paidBefore + 1)
    })

    it('a payer who cancels is asked once and led to the shop, and stays when they come back', async () => {
      const { page, payment } = await open({ description: 'cancelled' })
      await page.getByRole('link', { name: en.cancel }).click()
      await page.getByRole('button', { name: en.cancelYes }).click()
      await page.waitForURL('https://shop.example/**')
      await page.goto(payment.url, { waitUntil: 'load' })
      await page.getByRole('link', { name: en.backToShop }).waitFor()
      expect(page.url()).toBe(payment.url)
    })

    it('a display at a point of sale counts down in the reader’s own time', async () => {
      const inTenMinutes = new Date(Date.now() + 600_000)
      const { page } = await open({
        channel: 'direct_pos',
        method: 'qr_code',
        description: 'display',
        expireTime: inTenMinutes,
      })
      const time = page.locator('time')
      expect(await time.innerText()).toMatch(/ UTC \((9:\d\d|10:00) left\)$/)
      expect(await time.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
      expect(await time.evaluate(letterSizePx)).toBeGreaterThanOrEqual(16)
    })
  },
)
