// Receipts as the edge serves them, in every language: the page, the PDF, and what neither reveals.
import { afterAll, describe, expect, it } from 'vitest'
import { directionOf, languageCodes, localMoney } from '#core/text/language.ts'
import { languages } from '../../../gateway/pages/language.ts'
import { type Shown } from '../../../gateway/pages/preview/samples.ts'
import { readPdf } from '../../support/files/pdf.ts'
import { open, unescaped } from '../../system/payments/browser.ts'
import { startPages } from '../stand-ins/checkout.ts'

const pages = await startPages()
afterAll(() => pages.close())

const paid = { payer: 'paid', payment: 'paid' } as const
const refunded = { payer: 'Refunded', payment: 'Refunded' } as const
const receiptUrl = (shown: Shown) => pages.page(shown).receiptUrl

async function pdfOf(url: string) {
  const answer = await fetch(url)
  expect(answer.status).toBe(200)
  return { headers: answer.headers, bytes: new Uint8Array(await answer.arrayBuffer()) }
}

describe('the page of a receipt', () => {
  it.each(languageCodes)('the page of a receipt in %s says what we hold', async (language) => {
    const url = receiptUrl(paid)
    const { status, headers, html } = await open(`${url}?lang=${language}`)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toContain('no-store')
    expect(html).toContain(`<html lang="${language}" dir="${directionOf(language)}">`)
    const text = unescaped(html)
    const say = languages[language]
    const known = [say.paidTitle, say.receiptText, say.wallet, 'Kofi B., ••• 0101', 'order-1001']
    for (const part of [...known, localMoney(10_290n, 'TTD', language), '0000000000ee']) {
      expect(text).toContain(part)
    }
    expect(text).toContain(`href="${new URL(url).pathname}/pdf?lang=${language}"`)
    expect(html).toMatch(/class="paper">[\s\S]*role="img" aria-label="[^"]+"><svg\b/)
  })

  it('the page of a receipt says that the money went back, how much and when', async () => {
    const { html } = await open(receiptUrl(refunded))
    expect(html).toContain(`<h1>${languages.en.refundedTitle}</h1>`)
    expect(html).toMatch(/<dt>Refunded<\/dt><dd><bdi dir="ltr">102\.90 TTD/)
    expect(html).toContain('2026-01-02 02:30:00 UTC')
  })

  it('a receipt whose refund failed says that the money is still to go back, on paper too', async () => {
    const url = receiptUrl({ ...refunded, refund: 'failed' })
    const { html } = await open(url)
    expect(html).toContain(`<h1>${languages.en.refundHeldTitle}</h1>`)
    expect(html).toMatch(/<dt>Still to be refunded<\/dt><dd><bdi dir="ltr">102\.90 TTD/)
    expect(html).not.toContain(languages.en.refundedOn)
    const { letters } = await readPdf((await pdfOf(`${url}/pdf`)).bytes)
    expect(letters).toContain('Refunddelayed')
    expect(letters).not.toContain('Refundedon')
  })

  it('a receipt leads to no page that pays, and says nothing of other payers', async () => {
    const others = { othersMinor: 6_000n, othersPaidMinor: 6_000n }
    const { html } = await open(receiptUrl({ ...paid, ...others }))
    expect(html).not.toMatch(/\/pay\/[\w-]{43}|160\.00|shop\.example|<form/)
  })

  it.each(['', '/pdf'])('a receipt%s does not exist for any other token', async (below) => {
    const url = receiptUrl(paid)
    const unpaid = receiptUrl({})
    for (const address of [
      `${url.slice(0, -1)}x`,
      unpaid,
      `${url}x`,
      `${pages.origin}/receipts/x`,
    ]) {
      const { status, headers, html } = await open(`${address}${below}`)
      expect(status).toBe(404)
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(unescaped(html)).toContain(`<h1>${languages.en.receiptNotFoundTitle}</h1>`)
    }
  })

  it('a receipt takes no other method', async () => {
    const answer = await fetch(`${receiptUrl(paid)}/pdf`, { method: 'POST' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

describe('the PDF of a receipt', () => {
  it.each(languageCodes)('the PDF of a receipt in %s is tagged and says the same', async (code) => {
    const { bytes, headers } = await pdfOf(`${receiptUrl(refunded)}/pdf?lang=${code}`)
    expect(headers.get('content-type')).toBe('application/pdf')
    expect(headers.get('content-language')).toBe(code)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toBe("default-src 'none'")
    const { title, language, isTagged, letters } = await readPdf(bytes)
    expect({ title, language, isTagged }).toEqual({
      title: languages[code].receiptTitle,
      language: code,
      isTagged: true,
    })
    const shown = [localMoney(10_290n, 'TTD', code), 'Demo Store', 'order-1001', 'Kofi B.']
    for (const part of shown) {
      expect(letters).toContain(part.replaceAll(/\s/g, '').normalize('NFKC'))
    }
  })

  it('the PDF of a receipt is the same each time, and small', async () => {
    const url = `${receiptUrl(paid)}/pdf?lang=en`
    const [one, other] = await Promise.all([pdfOf(url), pdfOf(url)])
    expect(one.bytes).toEqual(other.bytes)
    expect(one.bytes.length).toBeLessThan(64 * 1024)
  })

  it('the PDF of a receipt of a sandbox says that no real money moved', async () => {
    const banner = languages.en.sandbox.replaceAll(' ', '')
    const { bytes } = await pdfOf(`${receiptUrl(paid)}/pdf`)
    expect((await readPdf(bytes)).letters).toContain(banner)
  })
})
