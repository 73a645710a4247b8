// Tests that a receipt prints the letters of every script that it claims, embedded, in tagged pages.
import { describe, expect, it } from 'vitest'
import { readPdf } from '../../test/support/files/pdf.ts'
import { drawReceipt, type PrintedReceipt } from './receipt.ts'

const receipt: PrintedReceipt = {
  language: 'en',
  title: 'Receipt',
  issuer: 'Demo Store',
  state: 'Paid',
  total: { label: 'Total paid', text: '102.90 TTD' },
  rows: [{ label: 'Payer', text: 'Kofi B.' }],
  time: new Date('2026-01-02T03:04:05Z'),
}

describe('a name', () => {
  it.each([
    ['Greek', 'Ελένη Παπαδοπούλου'],
    ['Cyrillic', 'Олена Шевченко'],
    ['Arabic', 'محمد الحسن'],
    ['Chinese', '王小明'],
    ['Chinese, traditional', '陳美玲'],
    ['Japanese', '田中さくら'],
    ['Korean', '김민준'],
    ['Vietnamese', 'Nguyễn Thị Ánh'],
    ['Polish', 'Łukasz Żółć'],
  ])('a name in %s is printed with its own letters', async (_, name) => {
    const rows = [{ label: 'Payer', text: name }]
    const pdf = await drawReceipt({ ...receipt, issuer: name, rows })
    const { letters } = await readPdf(pdf)
    // Readers order words from right to left as they like.
    for (const word of name.split(' ')) expect(letters.split(word).length - 1, word).toBe(2)
  })

  it('a letter that no font has is a question mark, and the rest is printed', async () => {
    const pdf = await drawReceipt({ ...receipt, issuer: 'Shop 🎉 Ὦ' })
    expect((await readPdf(pdf)).letters).toContain('Shop?Ὦ')
  })
})

it('every font is embedded, in part', async () => {
  const pdf = await drawReceipt({ ...receipt, issuer: 'Demo 陳 محمد' })
  const text = pdf.toString('latin1')
  const descriptors = text.match(/\/Type \/FontDescriptor/g) ?? []
  const files = text.match(/\/FontFile[23]? /g) ?? []
  expect(descriptors.length).toBeGreaterThanOrEqual(3)
  expect(files).toHaveLength(descriptors.length)
  expect(text).not.toMatch(/Helvetica|\/Subtype \/Type1\b/)
  expect(pdf.length).toBeLessThan(64 * 1024)
})

it('a receipt is tagged, titled and in a language', async () => {
  const check = { text: 'Check:', url: 'https://pay.example/receipts/x', qrLabel: 'QR code' }
  const pdf = await drawReceipt({ ...receipt, language: 'ar', title: 'إيصال الدفع', check })
  const { title, language, isTagged, roles } = await readPdf(pdf)
  expect({ title, language, isTagged }).toEqual({
    title: 'إيصال الدفع',
    language: 'ar',
    isTagged: true,
  })
  for (const role of ['Document', 'H1', 'Table', 'TR', 'TH', 'TD', 'Figure', 'Link']) {
    expect(roles).toContain(role)
  }
})

it('a receipt is the same each time', async () => {
  expect(await drawReceipt(receipt)).toEqual(await drawReceipt(receipt))
})

it('a receipt of the longest texts is one page, which is as long as it takes', async () => {
  const long = (length: number) => 'Wörd '.repeat(length / 5)
  const pdf = await drawReceipt({
    ...receipt,
    banner: long(60),
    issuer: long(100),
    description: long(1_000),
    rows: Array.from({ length: 10 }, () => ({ label: long(30), text: long(200) })),
    check: { text: long(70), url: `https://pay.example/receipts/${'x'.repeat(49)}`, qrLabel: 'QR' },
  })
  const { pages, lowest } = await readPdf(pdf)
  expect(pages).toBe(1)
  expect(lowest).toBeGreaterThan(30)
})
