// Pages and receipts of merchants with branding of their own, as the edge serves them.
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { type Brand, noBrand } from '../../../gateway/pages/brand/brands.ts'
import { palettesOf } from '../../../gateway/pages/brand/palette.ts'
import { languages } from '../../../gateway/pages/language.ts'
import { receiptStates, states } from '../../../gateway/pages/preview/samples.ts'
import { readPdf } from '../../support/files/pdf.ts'
import { samplePng } from '../../support/files/png.ts'
import { open, unescaped } from '../../system/payments/browser.ts'
import { startPages } from '../stand-ins/checkout.ts'

const pages = await startPages()
afterAll(() => pages.close())
afterEach(() => void Object.assign(pages.seen, { brand: noBrand, logo: undefined }))

const maxBytes = 25 * 1024
const brand: Brand = {
  palettes: palettesOf('#ffd400'),
  logoVersion: '0123456789abcdef',
  supportEmail: 'help@shop.example',
  supportPhone: '+12025550190',
  websiteUrl: 'https://shop.example/',
}
const paid = { payer: 'paid', payment: 'paid' } as const

/** Shows what the merchant looks like from now on. */
function showBrand(more: Partial<Brand> = {}): void {
  Object.assign(pages.seen, { brand: { ...brand, ...more }, logo: samplePng() })
}

const urls = [
  ...states.map(([name, shown, query = '']) => [name, pages.page(shown).url + query] as const),
  ...receiptStates.map(([name, shown]) => [name, pages.page(shown).receiptUrl] as const),
]

describe('a page of a merchant with branding', () => {
  it.each(urls)(
    'a page of a merchant with branding has its colours, logo and contacts: %s',
    async (_, url) => {
      showBrand()
      const { html, headers } = await open(url)
      const { palettes } = brand
      expect(html).toContain(`:root{--accent:${palettes?.light.accent};`)
      expect(html).toContain(
        `@media (prefers-color-scheme:dark){:root{--accent:${palettes?.dark.accent};`,
      )
      // Each style has the nonce of the policy.
      const policy = headers.get('content-security-policy') ?? ''
      const nonces = [...html.matchAll(/<style\b([^>]*)>/g)].map(([, nonce]) => nonce)
      expect(new Set(nonces)).toEqual(new Set([` nonce="${/'nonce-([^']+)'/.exec(policy)?.[1]}"`]))
      const logo = /<img src="([^"]+)" alt="" width="40" height="40">/.exec(html)?.[1] ?? ''
      expect(new URL(logo, url).pathname).toBe(`${new URL(url).pathname}/logo`)
      const text = unescaped(html)
      for (const part of [
        languages.en.help,
        'help@shop.example',
        'tel:+12025550190',
        'https://shop.example/',
      ]) {
        expect(text).toContain(part)
      }
      expect(policy).not.toMatch(/unsafe|\*|data:/)
      expect(Buffer.byteLength(html)).toBeLessThan(maxBytes)
    },
  )

  it('a logo is served by us, as a picture and nothing else', async () => {
    showBrand()
    const shown = pages.page(paid)
    for (const url of [shown.url, shown.receiptUrl]) {
      const answer = await fetch(`${url}/logo?v=1`)
      expect(answer.status).toBe(200)
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'image/png',
        'content-security-policy': "default-src 'none'",
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      })
      expect(Buffer.from(await answer.arrayBuffer())).toEqual(samplePng())
    }
  })

  it('a merchant without a logo has none, and an unknown link leads to none', async () => {
    const { url, receiptUrl } = pages.page(paid)
    showBrand()
    pages.seen.logo = undefined
    const unknown = `${pages.origin}/pay/${'Z'.repeat(43)}`
    for (const address of [url, receiptUrl, unknown]) {
      expect((await open(`${address}/logo`)).status).toBe(404)
    }
    showBrand({ logoVersion: '' })
    const { html } = await open(url)
    expect(html).not.toContain('<img')
    expect(html).toContain('<span aria-hidden="true">D</span>')
  })

  it('a page of a merchant with branding shows hostile contacts as text', async () => {
    const hostile = `"><script>alert(1)</script>'@x`
    showBrand({ supportEmail: hostile, supportPhone: hostile })
    const { html } = await open(pages.page({}).url)
    expect(html).not.toMatch(/<script>|href="[^"]*<script/)
    expect(unescaped(html)).toContain(hostile)
  })

  it('the card form gets the colours of the merchant', async () => {
    showBrand()
    const { url } = pages.page({ method: 'card' })
    for (const address of [url, `${url}/card`]) {
      await open(address)
      expect(pages.seen.themes.at(-1)).toEqual({
        accentColor: brand.palettes?.light.accent,
        darkAccentColor: brand.palettes?.dark.accent,
      })
    }
  })

  it('the PDF of a receipt has the logo and the contacts', async () => {
    const { receiptUrl } = pages.page(paid)
    const pdfOf = async () => Buffer.from(await (await fetch(`${receiptUrl}/pdf`)).arrayBuffer())
    expect((await pdfOf()).toString('latin1')).not.toContain('/Subtype /Image')
    showBrand()
    const pdf = await pdfOf()
    expect(pdf.toString('latin1')).toContain('/Subtype /Image')
    const { letters } = await readPdf(pdf)
    for (const part of ['help@shop.example', '+12025550190', 'shop.example']) {
      expect(letters).toContain(part)
    }
  })
})
