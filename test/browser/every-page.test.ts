// Every page that payers see, in a real browser: at every width, in both themes, in a language of each direction, with
// JavaScript and without.
import { isDeepStrictEqual } from 'node:util'
import type { Browser, CDPSession } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { type Brand, noBrand } from '../../gateway/pages/brand/brands.ts'
import { palettesOf } from '../../gateway/pages/brand/palette.ts'
import { languages } from '../../gateway/pages/language.ts'
import { formToken } from '../../gateway/pages/page-guard.ts'
import {
  noCardForms,
  receiptStates,
  type Shown,
  states,
} from '../../gateway/pages/preview/samples.ts'
import {
  cardOrigin,
  noAnswers,
  pageKey,
  slowCardForms,
  startPages,
} from '../edge/stand-ins/checkout.ts'
import { samplePng } from '../support/files/png.ts'
import { passedOver } from '../support/system-program.ts'
import { findChromium, launchChromium } from './chromium.ts'
import { layoutShift, scriptState, shownParts } from './in-page.js'
import { serveCardForm } from './stand-in-pages.ts'
import {
  expectAccessible,
  expectFits,
  expectStillAccessible,
  phone,
  type Visit,
  visit,
  withoutScripts,
} from './visit.ts'

const chromium = await findChromium()
const maxBytes = 25 * 1024
/** Less than a reader notices. */
const maxShift = 0.02
const widthsPx = [360, 768, 1440]
const themes = ['light', 'dark'] as const
/** One from right to left, and one from left to right. */
const codes = ['ar', 'en'] as const
const { ar, en } = languages
const paid = { payer: 'paid', payment: 'paid' } as const

/** What is opened. */
type Opened = {
  /** The address, without a language. */
  url: string
  status?: number
  /** It loads a card form. */
  isFramed?: boolean
  /** A frame of the page waits for what it shows. */
  isWaiting?: boolean
}

describe.skipIf(chromium.missing !== undefined)(`every page${passedOver(chromium)}`, () => {
  let browser: Browser
  let tab: Visit
  let session: CDPSession
  let pages: Awaited<ReturnType<typeof startPages>>
  /** A gateway that limits how many pages an address may open. */
  let limited: Awaited<ReturnType<typeof startPages>>
  beforeAll(async () => {
    pages = await startPages()
    limited = await startPages({ rateLimitRps: 1 })
    browser = await launchChromium(chromium)
    tab = await visit(browser)
    session = await tab.page.context().newCDPSession(tab.page)
  })
  afterEach(async () => {
    Object.assign(pages.seen, { brand: noBrand, logo: undefined, failure: undefined })
    // While a page has routes, each of its requests takes longer.
    await tab.page.unrouteAll()
  })
  afterAll(async () => {
    await browser?.close()
    await pages?.close()
    await limited?.close()
  })

  /** Opens an address, with scripts or without. Nothing shifts meanwhile. */
  async function open(
    { url, status = 200, isWaiting = false }: Opened,
    lang: string,
    { isScripted = true, width = Math.min(...widthsPx) } = {},
  ): Promise<void> {
    tab.forget()
    await tab.page.setViewportSize({ width, height: phone.height })
    const go = () =>
      tab.page.goto(`${url}${url.includes('?') ? '&' : '?'}lang=${lang}`, {
        waitUntil: isWaiting ? 'domcontentloaded' : 'load',
      })
    const answer = await (isScripted ? go() : withoutScripts(session, go))
    expect(answer?.status()).toBe(status)
    expect(await tab.page.evaluate(layoutShift)).toBeLessThan(maxShift)
  }

  /** What is the same in every look at the page that is open: what it is called, weighs, loads and complains of. */
  async function inspect({ url, status = 200, isFramed = false }: Opened) {
    expect(await tab.weightBytes()).toBeLessThan(maxBytes)
    const complaints = tab.complaints().filter((text) => !text.includes(`${status} (`))
    expect(complaints).toEqual([])
    const { origin } = new URL(url)
    expect(tab.origins()).toEqual(isFramed ? [origin, cardOrigin] : [origin])
    return { ...(await tab.page.evaluate(scriptState)), title: await tab.page.title() }
  }

  /** What the page shows at each width, and where. Nothing is cut off. */
  async function layouts(): Promise<string[][]> {
    const found = []
    for (const width of widthsPx) {
      await expectFits(tab.page, width)
      found.push(await tab.page.evaluate(shownParts))
    }
    return found
  }

  /** Looks at the page in both themes, at every width at which it shows something else or elsewhere. */
  async function look(found: string[][]): Promise<void> {
    const { page } = tab
    const isNew = (at: number) =>
      !found.slice(0, at).some((one) => isDeepStrictEqual(one, found[at]))
    const widths = widthsPx.filter((_, at) => isNew(at)).toReversed()
    for (const width of widths) {
      await page.setViewportSize({ width, height: phone.height })
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme })
        // From one look to the next, only the layout and colours change.
        await (width === widths[0] && colorScheme === themes[0]
          ? expectAccessible(page)
          : expectStillAccessible(page))
      }
    }
  }

  /** Opens a page with its scripts and looks at it. Returns what it is. */
  async function check(what: Opened, lang: string) {
    await open(what, lang)
    const found = { ...(await inspect(what)), layouts: await layouts() }
    expect(found.hasRun).toBe(found.isNamed)
    await look(found.layouts)
    return found
  }

  /**
   * Checks a page in every language, with its script and without. Where both show the same at the same places at every width,
   * nothing can have shifted, and what is found of one is true of the other. Elsewhere both are looked at in every way.
   */
  async function expectSound(what: Opened): Promise<void> {
    for (const lang of codes) {
      const scripted = await check(what, lang)
      if (!scripted.isNamed) continue
      await open(what, lang, { isScripted: false })
      const plain = await inspect(what)
      expect(plain).toEqual({ isNamed: true, hasRun: false, title: scripted.title })
      const found = await layouts()
      if (isDeepStrictEqual(found, scripted.layouts)) continue
      await look(found)
      for (const width of widthsPx.slice(1)) {
        for (const isScripted of [true, false]) await open(what, lang, { isScripted, width })
      }
    }
  }

  /** What the merchant looks like. */
  function showBrand(colour: string): void {
    const brand: Brand = {
      palettes: palettesOf(colour),
      logoVersion: 'v1',
      supportEmail: 'help@shop.example',
      supportPhone: '+12025550190',
      websiteUrl: 'https://shop.example/',
    }
    Object.assign(pages.seen, { brand, logo: samplePng() })
  }

  async function expectHeading(): Promise<void> {
    expect(await tab.page.title()).toContain(await tab.page.locator('h1').innerText())
    expect(await tab.page.locator('.total').innerText()).toContain('102.90 TTD')
  }

  it.each(states)(
    'a page in state %s is small, stable and accessible at every width, in both themes',
    async (name, shown, query = '') => {
      const isFramed = name === 'open by card'
      if (isFramed) await serveCardForm(tab.page, pages.origin)
      await expectSound({ url: `${pages.page(shown).url}${query}`, isFramed })
      await expectHeading()
    },
  )

  it.each(receiptStates)(
    'a page with a %s is small, stable and accessible at every width, in both themes',
    async (_, shown) => {
      await expectSound({ url: pages.page(shown).receiptUrl })
      await expectHeading()
    },
  )

  it('the question before a cancellation is small, stable and accessible at every width, in both themes', async () => {
    await expectSound({ url: `${pages.page({}).url}/cancel` })
    await expectHeading()
  })

  /** Pages that say one thing, all made alike: their titles, their statuses, and how they are reached. */
  const messages: [name: string, title: string, status: number, reach: () => Promise<string>][] = [
    [
      'of a payment that is not confirmed',
      ar.notConfirmedTitle,
      503,
      () => fail('SERVICE_UNAVAILABLE'),
    ],
    ['of a payment that is not sent', ar.notSentTitle, 503, () => fail('PAYMENT_NOT_PAYABLE')],
    [
      'of a wallet that is not offered',
      ar.walletNotOfferedTitle,
      409,
      () => fail('UNSUPPORTED_CHANNEL_METHOD'),
    ],
    [
      'of a form that was open for too long',
      ar.foreignFormTitle,
      403,
      () => send({ form_token: '1.x' }),
    ],
    [
      'of a payment that cannot be read',
      ar.unavailableTitle,
      503,
      async () => pages.page({ description: noAnswers }).url,
    ],
    ['of too many requests', ar.tooManyTitle, 429, () => overload()],
    ['at no link', ar.notFoundTitle, 404, async () => `${pages.origin}/pay/none`],
    ['at no receipt', ar.receiptNotFoundTitle, 404, async () => `${pages.origin}/receipts/none`],
  ]

  /** Makes opening an address the sending of a form for a wallet. */
  async function send(fields: Record<string, string>): Promise<string> {
    const { url } = pages.page({})
    const link = new URL(url).pathname.replace('/pay/', '')
    const form = { form_token: formToken(pageKey, link, Date.now()), ...fields }
    await tab.page.route(`${url}/wallet?*`, (route) => {
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      return route.continue({
        method: 'POST',
        headers: { ...route.request().headers(), ...type },
        postData: new URLSearchParams(form).toString(),
      })
    })
    return `${url}/wallet`
  }

  /** The same, where the call to pay fails. */
  function fail(reason: Reason): Promise<string> {
    pages.seen.failure = new Failure(reason, 'not paid')
    return send({ pin: '123456' })
  }

  /** Opens an address until the rate limit refuses it. */
  async function overload(): Promise<string> {
    await tab.page.route(`${limited.url}?*`, async (route) => {
      for (;;) {
        const response = await route.fetch()
        if (response.status() === 429) return route.fulfill({ response })
      }
    })
    return limited.url
  }

  it.each(messages)(
    'the page %s is small, stable and accessible at every width, in both themes',
    async (_, title, status, reach) => {
      const found = await check({ url: await reach(), status }, 'ar')
      expect(found).toMatchObject({ isNamed: false, title: expect.stringContaining(title) })
    },
  )

  it('the page of a mistaken PIN is small, stable and accessible at every width, in both themes', async () => {
    await expectSound({ url: await send({ pin: '12' }), status: 400 })
    expect(await tab.page.title()).toContain(en.mistakeTitle)
  })

  it.each([
    ['a card form', '', 200],
    ['no card form', noCardForms, 503],
  ])(
    'the page in the frame of %s is small, stable and accessible at every width, in both themes',
    async (_, description, status) => {
      await serveCardForm(tab.page, pages.origin)
      const { url } = pages.page({ method: 'card', description })
      await expectSound({ url: `${url}/card`, status, isFramed: status === 200 })
      expect(await tab.page.title()).toContain(en.cardTitle)
    },
  )

  it('a page whose card form is awaited is small, stable and accessible at every width, in both themes', async () => {
    const slow = Promise.withResolvers<void>()
    pages.seen.slowForm = slow.promise
    const { url } = pages.page({ method: 'card', description: slowCardForms })
    await check({ url, isWaiting: true }, 'en')
    await expectHeading()
    await tab.page.goto('about:blank')
    slow.resolve()
  })

  it.each<[string, Shown, string]>([
    ['open', {}, '#ffd400'],
    ['open by card', { method: 'card' }, '#101820'],
    ['paid', paid, '#ffd400'],
    ['cancelled', { payer: 'Cancelled', payment: 'Cancelled' }, '#ff6f61'],
  ])(
    'a page in state %s has the colours and logo of its merchant, and can be read',
    async (_, shown, colour) => {
      showBrand(colour)
      const what = { url: pages.page(shown).url, isFramed: shown.method === 'card' }
      if (what.isFramed) await serveCardForm(tab.page, pages.origin)
      for (const lang of codes) await check(what, lang)
      const logo = await tab.page.locator('.merchant img').boundingBox()
      expect(logo?.width).toBe(40)
    },
  )

  it('a receipt has the colours, logo and contacts of its merchant, and can be read', async () => {
    showBrand('#ffd400')
    for (const lang of codes) await check({ url: pages.page(paid).receiptUrl }, lang)
    for (const [text, href] of [
      ['help@shop.example', 'mailto:help@shop.example'],
      ['shop.example', 'https://shop.example/'],
    ] as const) {
      const link = tab.page.getByRole('link', { name: text, exact: true })
      expect(await link.getAttribute('href')).toBe(href)
      await tab.page.emulateMedia({ media: 'print' })
      expect(await link.isVisible()).toBe(true)
      await tab.page.emulateMedia({ media: 'screen' })
    }
  })
})
