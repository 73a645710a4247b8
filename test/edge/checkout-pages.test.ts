// Hosted pages as the edge serves them, in every state and language, without a browser.
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { languageCodes, languages } from '../../gateway/pages/language.ts'
import { formOf, open, submit, unescaped } from '../system/payments/browser.ts'
import {
  cardOrigin,
  errorUrl,
  noCardForms,
  type Shown,
  startPages,
  successUrl,
} from './stand-ins/checkout.ts'
import { states } from './stand-ins/checkout-states.ts'

const pages = await startPages()
afterAll(() => pages.close())
beforeEach(() => pages.show({}))

const maxBytes = 50 * 1024

const everywhere = states.flatMap(([name, shown]) =>
  languageCodes.map((language) => [name, language, shown] as const),
)

function show(shown: Shown, query = '', headers: Record<string, string> = {}) {
  pages.show(shown)
  return open(`${pages.url}${query}`, { headers })
}

/** What a reader sees or hears, in one line. */
function textOf(html: string): string {
  const body = html.replaceAll(/<style[\s\S]*?<\/style>/g, '').replaceAll(/<[^>]*>/g, ' ')
  return unescaped(body).replaceAll(/\s+/g, ' ')
}

const tagsOf = (html: string, name: string) =>
  html.match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? []

describe('a page, in every state and language,', () => {
  it.each(everywhere)(
    'a page in state %s and language %s says its state and the exact money',
    async (_, language, shown) => {
      const { status, headers, html } = await show(shown, `?lang=${language}`)
      expect(status).toBe(200)
      expect(headers.get('content-language')).toBe(language)
      const direction = language === 'ar' ? 'rtl' : 'ltr'
      expect(html).toContain(`<html lang="${language}" dir="${direction}">`)
      const text = textOf(html)
      for (const part of ['Demo Store', '100.00 TTD', '2.90 TTD', '102.90 TTD']) {
        expect(text).toContain(part)
      }
      const title = /<title>(.*)<\/title>/.exec(html)?.[1]
      expect(html).toContain(`<h1>${title}</h1>`)
      expect(Buffer.byteLength(html)).toBeLessThan(maxBytes)
    },
  )

  it.each(everywhere)(
    'a page in state %s and language %s is accessible',
    async (_, language, shown) => {
      const { html } = await show(shown, `?lang=${language}`)
      expect(tagsOf(html, 'h1')).toHaveLength(1)
      expect(tagsOf(html, 'main')).toHaveLength(1)
      expect(html.indexOf('<h1')).toBeLessThan(
        html.includes('<h2') ? html.indexOf('<h2') : Infinity,
      )
      const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
      expect(new Set(ids).size).toBe(ids.length)
      for (const described of html.matchAll(/aria-describedby="([^"]+)"/g)) {
        expect(ids).toEqual(expect.arrayContaining((described[1] ?? '').split(' ')))
      }
      for (const input of tagsOf(html, 'input')) {
        const id = /\sid="([^"]+)"/.exec(input)?.[1]
        expect(input.includes('type="hidden"') || html.includes(`<label for="${id}">`)).toBe(true)
      }
      for (const frame of tagsOf(html, 'iframe')) expect(frame).toMatch(/ title="[^"]+"/)
      expect(html).not.toMatch(
        /tabindex|autofocus|user-scalable|maximum-scale|\sstyle=|\son[a-z]+=/,
      )
    },
  )

  it.each(states)(
    'a page in state %s asks nothing of any other origin but the card frame',
    async (_, shown) => {
      const { html, headers } = await show(shown)
      const loaded = [...html.matchAll(/\ssrc="([^"]*)"|url\(([^)]*)\)|@import/g)]
      const origins = loaded.map(
        ([, address = '']) => new URL(unescaped(address), pages.url).origin,
      )
      const framed = html.includes('<iframe')
      expect([pages.origin, cardOrigin]).toEqual(expect.arrayContaining(origins))
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain(framed ? `frame-src ${cardOrigin}` : "frame-src 'none'")
      expect(policy).not.toMatch(/unsafe|\*|data:/)
      expect(html).toContain(`<style nonce="${/'nonce-([^']+)'/.exec(policy)?.[1]}">`)
    },
  )
})

describe('a state', () => {
  const titleOf = ({ html }: { html: string }) => /<h1>(.*)<\/h1>/.exec(html)?.[1]

  it("the payer's page says how many attempts are left", async () => {
    const { html } = await show({ refusedAttempts: 4 })
    expect(html).toMatch(/role="alert">\s*<p[^>]*>[^<]*Attempts left: 1\./)
    expect(html).toContain('name="pin"')
  })

  it('a final state leads to the stored URL by a link, never automatically', async () => {
    const paid = await show({ payer: 'paid', payment: 'paid' })
    expect(unescaped(paid.html)).toContain(`href="${successUrl}" rel="noreferrer">`)
    const expired = await show({ payer: 'Expired', payment: 'Expired' })
    expect(unescaped(expired.html)).toContain(`href="${errorUrl}" rel="noreferrer">`)
    const asked = await show({ payer: 'paid' }, '?success=https://evil.example&url=//evil.example')
    for (const { html } of [paid, expired, asked]) {
      expect(html).not.toMatch(/http-equiv|evil\.example|<form/)
    }
  })

  it("the payer's page reloads without scripts only while a payment is in progress", async () => {
    const { html } = await show({ payer: 'Processing' }, '?lang=fr')
    const renewal = `<noscript><meta http-equiv="refresh" content="5;url=/pay/${pages.link}?lang=fr">`
    expect(html).toContain(renewal)
    expect((await show({})).html).not.toContain('http-equiv')
  })

  it("the payer's page at a point of sale shows the code as a picture and as text", async () => {
    const { html } = await show({ channel: 'direct_pos', method: 'qr_code' })
    expect(html).toMatch(/role="img" aria-label="[^"]+"><svg\b/)
    expect(textOf(html)).toContain(`http://127.0.0.1:8080/pay/${pages.link}`)
  })

  it("the payer's page at an agent shows a code large, and larger on paper", async () => {
    const { html } = await show({ channel: 'agent', method: 'cash' })
    expect(html).toContain('class="code">1234 5678 9012<')
    expect(html).toMatch(/@media print \{[\s\S]*\.code \{\s*font-size: min\(3rem/)
    expect(html).not.toContain('name="pin"')
  })

  it('a state without a card form says so and shows no frame', async () => {
    const { html } = await show({ method: 'card', description: noCardForms })
    expect(html).toContain(languages.en.cardUnavailable)
    expect(html).not.toContain('<iframe')
  })

  it("the payer's page keeps the decimals of its currency", async () => {
    const amountMinor = 9_007_199_254_740_993n
    const yen = await show({ currency: 'JPY', amountMinor, feeMinor: 0n }, '?lang=ar')
    expect(textOf(yen.html)).toContain('9007199254740993 JPY')
    const dinar = await show({ currency: 'BHD', amountMinor, feeMinor: 1n }, '?lang=fr')
    expect(textOf(dinar.html)).toContain('9007199254740.994 BHD')
    expect(titleOf(dinar)).toBe(languages.fr.openTitle)
  })
})

describe('a hostile name', () => {
  const hostile = `</title><script>alert(1)</script>"><img src=x onerror=a()>' {total} <%= 1 %>`

  it.each(states)('a hostile name is shown as text in state %s', async (_, shown) => {
    const { html } = await show({ description: hostile, ...shown, businessName: hostile })
    expect(html).not.toMatch(/<img|<script>|onerror=a\(\)>/i)
    expect(unescaped(html)).toContain(hostile)
  })

  it('a hostile name of a language or method is not shown', async () => {
    const { html } = await show({}, `?lang=${encodeURIComponent(hostile)}&method=%22%3E%3Cimg%3E`)
    expect(html).toContain('<html lang="en"')
    expect(html).not.toMatch(/<img|%3Cimg|alert\(1\)/)
  })
})

describe('the language', () => {
  it('the language is what the browser prefers until the payer chooses', async () => {
    const asked = { 'accept-language': 'pt-BR,pt;q=0.9,en;q=0.8' }
    const preferred = await show({}, '', asked)
    expect(preferred.html).toContain('<html lang="pt"')
    expect(preferred.headers.get('vary')).toMatch(/accept-language/i)
    expect((await show({}, '?lang=es', asked)).html).toContain('<html lang="es"')
  })

  it('a chosen language survives the form', async () => {
    const page = await show({}, '?lang=ar')
    const answer = await submit(formOf(page), { pin: '123456' })
    expect(answer.status).toBe(303)
    expect(answer.headers.get('location')).toBe(`/pay/${pages.link}?lang=ar`)
    const mistaken = await submit(formOf(page), { pin: '12' })
    expect(mistaken.status).toBe(400)
    expect(mistaken.html).toContain('<html lang="ar" dir="rtl">')
    expect(mistaken.html).toContain(languages.ar.pinMistake)
    expect(mistaken.html).toMatch(/aria-describedby="pin-hint pin-mistake" aria-invalid="true"/)
    expect(pages.seen.pins).toEqual(['123456'])
  })

  it('a language that was not chosen stays out of URLs', async () => {
    const answer = await submit(formOf(await show({})), { pin: '123456' })
    expect(answer.headers.get('location')).toBe(`/pay/${pages.link}`)
  })

  it('the language goes along with the choice of a means', async () => {
    const { html } = await show({}, '?lang=fr')
    const card = /href="([^"]*method=card)"/.exec(html)?.[1] ?? ''
    const byCard = await open(new URL(unescaped(card), pages.url).href)
    expect(byCard.html).toContain('<html lang="fr"')
    expect(byCard.html).toContain('<iframe')
    for (const code of languageCodes) {
      expect(unescaped(byCard.html)).toContain(`href="/pay/${pages.link}?lang=${code}&method=card"`)
    }
  })

  it.each(languageCodes)('a refusal is in the language of the page: %s', async (code) => {
    const unknown = await open(`${pages.origin}/pay/unknown?lang=${code}`)
    expect(unknown.status).toBe(404)
    expect(unescaped(unknown.html)).toContain(`<h1>${languages[code].notFoundTitle}</h1>`)
    const form = formOf(await show({}, `?lang=${code}`))
    const foreign = await submit(form, { pin: '123456' }, { origin: 'https://evil.example' })
    expect(foreign.status).toBe(403)
    expect(unescaped(foreign.html)).toContain(languages[code].foreignFormText)
    expect(foreign.html).toContain(`href="/pay/${pages.link}?lang=${code}">`)
  })
})

describe('the means that a payer chose', () => {
  it('the means that a payer chose stays selected when the PIN is mistyped or refused', async () => {
    const { url } = pages.page({ method: 'card' })
    const byWallet = await open(`${url}?method=wallet`)
    const mistaken = await submit(formOf(byWallet), { pin: '12' })
    expect(mistaken.html).toContain('<a href="#pin">')
    expect(mistaken.html).toMatch(/<input id="pin"[^>]* aria-invalid="true"/)
    const sent = await submit(formOf(byWallet), { pin: '123456' })
    expect(sent.headers.get('location')).toBe(`${new URL(url).pathname}?method=wallet`)
  })

  it('the means that a payer chose is not asked for again once there is nothing to pay', async () => {
    const form = formOf(await show({}))
    pages.show({ payer: 'Expired', payment: 'Expired' })
    const late = await submit(form, { pin: '12' })
    expect(late.html).toContain(`<h1>${languages.en.expiredTitle}</h1>`)
    expect(late.html).not.toMatch(/#pin|name="pin"/)
  })
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
    // The six ways to be open say the same of the payment.
    expect(new Set(stamps).size).toBe(states.length - 5)
  })

  it('a page watches its payment only while it can change; every other page has no script', async () => {
    for (const [name, shown] of states) {
      const { html, headers } = await show(shown)
      const isOver = /^(paid|cancelled|expired|failed|refunded)$/.test(name)
      expect(html.includes('<script'), name).toBe(!isOver)
      expect(headers.get('content-security-policy')?.includes('script-src'), name).toBe(!isOver)
    }
  })

  it('a page that watches its payment loads one small script that stands by itself', async () => {
    const { status, headers, html } = await open(`${pages.origin}/pay/live.js`)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(Buffer.byteLength(html)).toBeLessThan(4_096)
    expect(html).not.toMatch(/https?:|innerHTML|eval|import\s|document\.cookie/)
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

it('the keyboard goes from the form to the other means, then to the languages', async () => {
  const { html } = await show({})
  const stops = [...html.matchAll(/<(?:a|button|input|iframe)\b[^>]*>/g)]
    .map(([tag]) => tag)
    .filter((tag) => !tag.includes('type="hidden"'))
  expect(stops[0]).toContain('id="pin"')
  expect(stops[1]).toContain('<button')
  expect(stops[2]).toContain('method=card')
  expect(stops.slice(-languageCodes.length).map((tag) => / lang="(\w+)"/.exec(tag)?.[1])).toEqual(
    languageCodes,
  )
})
