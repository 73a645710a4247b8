// Hosted pages as the edge serves them, in every state and language, without a browser.
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { directionOf, languageCodes, localAmount } from '#core/text/language.ts'
import { languages } from '../../../gateway/pages/language.ts'
import {
  errorUrl,
  noCardForms,
  type Shown,
  states,
  successUrl,
} from '../../../gateway/pages/preview/samples.ts'
import { formOf, open, submit, unescaped } from '../../system/payments/browser.ts'
import { cardOrigin, startPages } from '../stand-ins/checkout.ts'

const pages = await startPages()
afterAll(() => pages.close())
beforeEach(() => pages.show({}))

const maxBytes = 25 * 1024

const everywhere = states.flatMap(([name, shown, query = '?']) =>
  languageCodes.map((language) => [name, language, shown, `${query}&lang=${language}`] as const),
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
    async (_, language, shown, query) => {
      const { status, headers, html } = await show(shown, query)
      expect(status).toBe(200)
      expect(headers.get('content-language')).toBe(language)
      expect(html).toContain(`<html lang="${language}" dir="${directionOf(language)}">`)
      const text = textOf(html)
      const amounts = [10_000n, 290n, 10_290n].map((minor) => localAmount(minor, 'TTD', language))
      for (const part of ['Demo Store', ...amounts.map((amount) => `${amount} TTD`)]) {
        expect(text).toContain(part)
      }
      expect(html).toContain('<data value="102.90">')
      const { sandbox, sandboxMark } = languages[language]
      expect(text).toContain(sandbox.replace('\u00a0', ' '))
      const heading = /<h1>(.*)<\/h1>/.exec(html)?.[1] ?? ''
      const isolated = (text: string) => (language === 'ar' ? `\u2068${text}\u2069` : text)
      const parts = [`${amounts[2]} TTD`, 'Demo Store'].map(isolated)
      expect(html).toContain(`<title>${[sandboxMark, heading, ...parts].join(' · ')}</title>`)
      expect(html).toContain(`name="description" content="${parts.join(' · ')}`)
      expect(Buffer.byteLength(html)).toBeLessThan(maxBytes)
    },
  )

  it.each(everywhere)(
    'a page in state %s and language %s is accessible',
    async (_, __, shown, query) => {
      const { html } = await show(shown, query)
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
    async (_, shown, query = '') => {
      const { html, headers } = await show(shown, query)
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
    expect(html).toMatch(/role="alert">[\s\S]*This is your last attempt\./)
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

  it.each<[string, Shown]>([
    ['paid', { payer: 'paid', payment: 'paid' }],
    ['refunded', { payer: 'Refunded', payment: 'Refunded' }],
  ])('a page that is %s proves it, and leads to its receipt', async (state, shown) => {
    const { html } = await show(shown, '?lang=fr')
    const text = textOf(html)
    const times = ['2026-01-02 02:00:00 UTC', '2026-01-02 02:30:00 UTC']
    expect(html).toContain(times[0])
    expect(html.includes(times[1] ?? '')).toBe(state === 'refunded')
    for (const part of ['order-1001', languages.fr.wallet, 'Kofi B., ••• 0101', '0000000000ee']) {
      expect(text).toContain(part)
    }
    expect(html).toMatch(/<a [^>]*href="\/receipts\/[\w-]{49}\?lang=fr">/)
  })

  it('a page has no link to the shop while the payment may still succeed', async () => {
    for (const shown of [{}, { payer: 'Processing' }, { refusedAttempts: 2 }] as const) {
      const { html } = await show(shown)
      expect(html).not.toContain('shop.example')
    }
  })

  it('a page of production says nothing of a sandbox', async () => {
    const live = await startPages({ environment: 'production' })
    for (const path of [`/pay/${live.link}`, '/pay/unknown']) {
      const { html } = await open(`${live.origin}${path}`)
      expect(html).not.toContain('class="sandbox"')
      expect(html).not.toContain(languages.en.sandboxMark)
    }
    const unknown = await open(`${pages.origin}/pay/unknown`)
    expect(unknown.html).toContain(`<title>${languages.en.sandboxMark} · `)
    await live.close()
  })

  it("the payer's page of a payment in progress has a link to check again, for browsers without scripts alone", async () => {
    const { html } = await show({ payer: 'Processing' }, '?lang=fr')
    const withoutScripts = [...html.matchAll(/<noscript>(.*)<\/noscript>/g)].map(([, text]) => text)
    expect(withoutScripts).toEqual([
      expect.stringMatching(/^<style nonce="[^"]+">\.by-script \{ display: none \}<\/style>$/),
      expect.stringContaining(`href="/pay/${pages.link}?lang=fr">${languages.fr.checkAgain}</a>`),
    ])
    expect(html).toContain(`<p class="by-script">${languages.fr.updatesItself}</p>`)
    expect(html).not.toContain('http-equiv')
    expect((await show({})).html).not.toContain('by-script">')
  })

  it("the payer's page at a point of sale shows the code as a picture and as text", async () => {
    const { html } = await show({ channel: 'direct_pos', method: 'qr_code' })
    expect(html).toMatch(/role="img" aria-label="[^"]+"><svg\b/)
    expect(textOf(html)).toContain(`http://127.0.0.1:8080/pay/${pages.link}?scanned=1`)
    expect(html).not.toContain('name="pin"')
  })

  it("the payer's page after a scan asks for the PIN and shows no code again", async () => {
    const { html } = await show({ channel: 'direct_pos', method: 'qr_code' }, '?scanned=1')
    expect(html).toContain('name="pin"')
    expect(html).not.toContain('class="qr"')
    expect(html).toContain('/wallet?scanned=1"')
  })

  it("the payer's page names the payer as far as they recognize themselves", async () => {
    const { html } = await show({})
    expect(textOf(html)).toContain('Wallet of Kofi B., ••• 0101')
    expect(textOf(html)).toContain('Ask Demo Store for a link of your own.')
  })

  it("the payer's page at an agent shows a code large, and larger on paper", async () => {
    const { html } = await show({ channel: 'agent', method: 'cash' })
    expect(html).toContain('class="code">1234\u00a05678\u00a09012<')
    expect(html).toMatch(/@media print \{[\s\S]*\.code \{\s*font-size: min\(3rem/)
    expect(html).toMatch(/role="img" aria-label="Barcode of the cash code"><svg\b/)
    expect(textOf(html)).toContain('Go to an agent with 102.90 TTD in cash')
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
    expect(textOf(yen.html)).toContain('9,007,199,254,740,993 JPY')
    const dinar = await show({ currency: 'BHD', amountMinor, feeMinor: 1n }, '?lang=fr')
    expect(textOf(dinar.html)).toContain('9 007 199 254 740,994 BHD')
    expect(dinar.html).toContain('<data value="9007199254740.994">')
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
    expect(preferred.html).toContain('<html lang="pt-BR"')
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

it('the keyboard goes from the form to the other payment options, then to the languages', async () => {
  const { html } = await show({})
  // The last link appears when the payment has changed while a form is in use.
  const stops = [...html.matchAll(/<(?:a|button|input|iframe)\b[^>]*>/g)]
    .map(([tag]) => tag)
    .filter((tag) => !tag.includes('type="hidden"'))
  expect(stops[0]).toContain('id="pin"')
  expect(stops[1]).toContain('<button')
  expect(stops[2]).toContain('method=card')
  expect(
    stops.slice(-languageCodes.length - 1, -1).map((tag) => / lang="([\w-]+)"/.exec(tag)?.[1]),
  ).toEqual(languageCodes)
})
