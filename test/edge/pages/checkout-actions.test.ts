// What hosted pages do at the edge besides showing a state: cancelling, card forms, watching a payment.
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { languageCodes } from '#core/text/language.ts'
import { NotSent } from '#platform/rpc/client/not-sent.ts'
import { languages } from '../../../gateway/pages/language.ts'
import {
  errorUrl,
  noCardForms,
  type Shown,
  states,
} from '../../../gateway/pages/preview/samples.ts'
import { eventually } from '../../support/eventually.ts'
import { formOf, open, submit, unescaped } from '../../system/payments/browser.ts'
import { cardOrigin, slowCardForms, startPages, withoutCards } from '../stand-ins/checkout.ts'

const pages = await startPages()
afterAll(() => pages.close())
beforeEach(() => pages.show({}))

function show(shown: Shown, query = '') {
  pages.show(shown)
  return open(`${pages.url}${query}`)
}

describe('cancelling', () => {
  const cancelUrl = () => `${pages.url}/cancel`

  it('cancelling asks once, then the page leads to the shop', async () => {
    const { html } = await show({}, '?lang=fr')
    expect(html).toContain(`href="/pay/${pages.link}/cancel?lang=fr"`)
    const question = await open(`${cancelUrl()}?lang=fr`)
    expect(unescaped(question.html)).toContain(languages.fr.cancelTitle)
    expect(question.html).not.toContain('shop.example')
    const answer = await submit(formOf(question), {})
    expect(answer.status).toBe(303)
    expect(answer.headers.get('location')).toBe(`/pay/${pages.link}?lang=fr`)
    const after = await open(pages.url)
    expect(after.html).toContain(`<h1>${languages.en.cancelledTitle}</h1>`)
    expect(unescaped(after.html)).toContain(`href="${errorUrl}" rel="noreferrer">`)
  })

  it.each<[string, Shown]>([
    ['others pay too', { othersMinor: 6_000n }],
    ['the payer is paying', { payer: 'Processing' }],
    ['it is paid', { payer: 'paid', payment: 'paid' }],
  ])('cancelling is not offered when %s', async (_, shown) => {
    expect((await show(shown)).html).not.toContain('/cancel')
    const asked = await open(cancelUrl())
    expect([asked.status, asked.headers.get('location')]).toEqual([303, `/pay/${pages.link}`])
  })

  it('cancelling too late shows what has happened instead', async () => {
    await show({})
    const form = formOf(await open(cancelUrl()))
    pages.show({ payer: 'paid', payment: 'paid' })
    const answer = await submit(form, {})
    expect(answer.headers.get('location')).toBe(`/pay/${pages.link}`)
    expect((await open(pages.url)).html).toContain(`<h1>${languages.en.paidTitle}</h1>`)
  })

  it('cancelling by a form that is not ours changes nothing', async () => {
    await show({})
    const form = formOf(await open(cancelUrl()))
    expect((await submit({ ...form, fields: {} }, {})).status).toBe(403)
    expect((await submit(form, {}, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await open(pages.url)).html).toContain('name="pin"')
  })
})

describe('a wallet that cannot be called, or gives no answer', () => {
  /** Sends a PIN by the form of an open page; the call to pay fails before an attempt has begun. */
  async function payAndFail(failure: Failure, query = '') {
    const form = formOf(await show({}, query))
    pages.seen.failure = failure
    const answer = await submit(form, { pin: '123456' })
    pages.seen.failure = undefined
    return answer
  }

  it.each(languageCodes)(
    'a wallet that gives no answer leaves open in %s whether the money moved, and leads to the page',
    async (language) => {
      const lost = new Failure('SERVICE_UNAVAILABLE', 'no answer')
      const { status, headers, html } = await payAndFail(lost, `?lang=${language}`)
      expect([status, headers.get('retry-after')]).toEqual([503, '1'])
      const { notConfirmedTitle, notConfirmedText, unavailableTitle } = languages[language]
      const text = unescaped(html)
      expect(text).toContain(notConfirmedTitle)
      expect(text).toContain(notConfirmedText)
      expect(text).not.toContain(unavailableTitle)
      expect(text).toContain(`href="/pay/${pages.link}?lang=${language}"`)
    },
  )

  it('a wallet that gives no answer once the attempt has begun leads to the page, which says that it waits', async () => {
    const form = formOf(await show({}, '?lang=fr'))
    const lost = Promise.reject(new Failure('TIMEOUT', 'no answer in time'))
    lost.catch(() => undefined)
    pages.seen.wallet = lost
    const { status, headers } = await submit(form, { pin: '123456' })
    pages.seen.wallet = undefined
    expect([status, headers.get('location')]).toEqual([303, `/pay/${pages.link}?lang=fr`])
    expect((await open(pages.url)).html).toContain(languages.en.processingTitle)
  })

  it.each<[string, Failure]>([
    ['payments', new Failure('SERVICE_UNAVAILABLE', 'no connection', { cause: new NotSent() })],
    ['the back end', new Failure('PAYMENT_NOT_PAYABLE', 'the attempt is not there')],
  ])(
    'a call to pay that cannot have reached %s says that nothing was taken, and leads to the page',
    async (_, failure) => {
      const { status, headers, html } = await payAndFail(failure)
      expect([status, headers.get('retry-after')]).toEqual([503, '1'])
      expect(html).toContain(languages.en.notSentTitle)
      expect(html).toContain(languages.en.notSentText)
      expect(html).toContain(`href="/pay/${pages.link}"`)
    },
  )

  it('a wallet that the connector does not take is refused with a way to choose another payment option', async () => {
    const noWallets = new Failure('UNSUPPORTED_CHANNEL_METHOD', 'no wallets')
    const { status, html } = await payAndFail(noWallets)
    expect(status).toBe(409)
    expect(html).toContain(languages.en.walletNotOfferedText)
    expect(html).toContain(`href="/pay/${pages.link}"`)
  })
})

describe('a card form', () => {
  it('a card form is opened in the language of the page', async () => {
    const { html } = await show({ method: 'card' }, '?lang=pt-BR')
    expect(html).toContain(`src="${cardOrigin}/form?lang=pt-BR"`)
  })

  it('a card form that is slow to open does not keep the page waiting', async () => {
    const slow = Promise.withResolvers<void>()
    pages.seen.slowForm = slow.promise
    const { html, headers } = await show({ method: 'card', description: slowCardForms })
    const [, path = ''] = /<iframe [^>]*src="([^"]*)"/.exec(html) ?? []
    expect(path).toBe(`/pay/${pages.link}/card?lang=en`)
    expect(headers.get('content-security-policy')).toContain("frame-src 'self'")
    const framed = open(`${pages.origin}${path}`)
    slow.resolve()
    const inner = await framed
    expect(inner.html).toContain(`src="${cardOrigin}/form?lang=en"`)
    const policy = inner.headers.get('content-security-policy')
    expect(policy).toContain(`frame-src ${cardOrigin}`)
    expect(policy).toContain("frame-ancestors 'self'")
    expect(inner.headers.get('x-frame-options')).toBe('SAMEORIGIN')
  })

  it('a card form that cannot be opened says so in its frame, with a way to try again', async () => {
    await show({ method: 'card', description: noCardForms })
    const { status, html } = await open(`${pages.url}/card?lang=es`)
    expect(status).toBe(503)
    expect(html).toContain(languages.es.cardUnavailable)
    expect(html).toContain(`href="/pay/${pages.link}/card?lang=es"`)
  })

  it('a card form that the connector does not have is no reason to wait, and the page offers another payment option', async () => {
    const { status, html } = await show({ method: 'card', description: withoutCards })
    expect(status).toBe(200)
    expect(html).toContain(languages.en.cardNotOffered)
    expect(html).not.toContain(languages.en.cardUnavailable)
    expect(html).toContain(languages.en.walletInstead)
    const framed = await open(`${pages.url}/card`)
    expect(framed.html).toContain(languages.en.cardNotOffered)
    expect(framed.html).not.toContain(languages.en.refresh)
  })
})

it('the address of the installation leads to its documents, and its icon is a picture', async () => {
  const root = await open(`${pages.origin}/`)
  expect([root.status, root.headers.get('location')]).toEqual([302, 'docs'])
  const icon = await open(`${pages.origin}/favicon.ico`)
  expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
})

describe('a page that watches its payment', () => {
  const dataOf = (html: string, name: string) =>
    unescaped(
      new RegExp(`<script src="/pay/live.js" defer[^>]* data-${name}="([^"]*)"`).exec(html)?.[1] ??
        '',
    )
  const stateOf = async () => {
    const { status, headers, html } = await open(`${pages.url}/state`)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(headers.get('cache-control')).toBe('no-store')
    return JSON.parse(html) as { phase: string; stamp: string }
  }

  it('a payment page polls its own origin and sees every change of state', async () => {
    const { html, headers } = await show({}, '?lang=fr&method=card')
    expect(dataOf(html, 'page')).toBe(`/pay/${pages.link}?lang=fr&method=card`)
    expect(dataOf(html, 'watch')).toBe(`/pay/${pages.link}/state`)
    expect(headers.get('content-security-policy')).toMatch(/script-src 'self'; connect-src 'self'/)
    expect(await stateOf()).toEqual({ phase: 'open', stamp: dataOf(html, 'stamp') })
    const stamps = []
    for (const [, shown] of states) {
      pages.show(shown)
      stamps.push((await stateOf()).stamp)
    }
    // The seven ways to be open say the same of the payment.
    expect(new Set(stamps).size).toBe(states.length - 6)
  })

  it('a page watches its payment only while it can change', async () => {
    for (const [name, shown] of states) {
      const { html } = await show(shown)
      const isOver = /^(paid|cancelled|expired|failed(, .*)?|refund(ed| delayed))$/.test(name)
      expect(dataOf(html, 'watch') === '', name).toBe(isOver)
    }
  })

  it('a page that says one thing has no script', async () => {
    const { html, headers } = await open(`${pages.origin}/pay/unknown`)
    expect(html).not.toContain('<script')
    expect(headers.get('content-security-policy')).not.toContain('script-src')
  })

  it('a page that watches its payment loads one small script that stands by itself', async () => {
    const { status, headers, html } = await open(`${pages.origin}/pay/live.js`)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(Buffer.byteLength(html)).toBeLessThan(8_192)
    expect(html).not.toMatch(/https?:|innerHTML|eval|import\s|document\.cookie|localStorage/)
  })

  it('a page that watches its payment does not keep others from paying when it is left open many times', async () => {
    const limited = await startPages({ rateLimitRps: 50 })
    const watching = await Promise.all(
      Array.from({ length: 100 }, () => open(`${limited.url}/state`)),
    )
    expect(watching.map(({ status }) => status)).toContain(429)
    expect((await open(limited.url)).status).toBe(200)
    await limited.close()
  })

  it('a poll of an unknown link is 404, and a POST is 405', async () => {
    const answer = await open(`${pages.origin}/pay/${'B'.repeat(43)}/state`)
    expect(answer.status).toBe(404)
    const posted = await open(`${pages.url}/state`, { method: 'POST' })
    expect(posted.status).toBe(405)
    expect(posted.headers.get('allow')).toBe('GET')
  })
})

/** Reads a stream until it ends or the test closes it. */
async function listen(url: string) {
  const stop = new AbortController()
  const answer = await fetch(url, { signal: stop.signal })
  const heard: string[] = []
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  const ended = (async () => {
    for (;;) {
      const { done, value = '' } = (await reader?.read()) ?? { done: true }
      if (done) return
      heard.push(...[...value.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data))
    }
  })().catch(() => undefined)
  return { answer, heard, ended, stop: () => stop.abort() }
}

describe('the stream of a page', () => {
  it('the stream of a page begins with the present state and says each change once', async () => {
    const { answer, heard, stop } = await listen(`${pages.url}/events`)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    pages.show({ payer: 'Processing' })
    pages.show({ payer: 'Processing' })
    await eventually(() => expect(heard).toHaveLength(2))
    pages.show({ payer: 'paid', payment: 'paid' })
    await eventually(() => expect(heard).toHaveLength(3))
    expect(heard.map((data) => (JSON.parse(data) as { phase: string }).phase)).toEqual([
      'open',
      'processing',
      'ended',
    ])
    stop()
  })

  it('the stream of a page costs one reading a change, with any number of pages', async () => {
    const streams = await Promise.all(
      Array.from({ length: 6 }, () => listen(`${pages.url}/events`)),
    )
    // Each stream has settled once its subscription was read after.
    await eventually(() => expect(streams.every(({ heard }) => heard.length === 1)).toBe(true))
    const refused = await open(`${pages.url}/events`)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    pages.show({ payer: 'Processing' })
    await eventually(() => expect(streams.every(({ heard }) => heard.length === 2)).toBe(true))
    for (const { stop } of streams) stop()
    await eventually(async () => {
      const again = await listen(`${pages.url}/events`)
      again.stop()
      expect(again.answer.status).toBe(200)
    })
  })

  it('the stream of a page is refused without a broker, and of an unknown link', async () => {
    pages.seen.isSubscribed = false
    expect((await open(`${pages.url}/events`)).status).toBe(503)
    pages.seen.isSubscribed = true
    expect((await open(`${pages.origin}/pay/${'B'.repeat(43)}/events`)).status).toBe(404)
  })

  it('the stream of a page ends when the gateway stops', async () => {
    const stopping = await startPages()
    const { heard, ended } = await listen(`${stopping.url}/events`)
    await eventually(() => expect(heard).toHaveLength(1))
    await stopping.close()
    await ended
  })
})
