// Says what the PDF of a receipt shows: what its page does, and where that page is. Pure.
import { type Language } from '#core/text/language.ts'
import type { PrintedReceipt } from '#platform/pdf/receipt.ts'
import type { Brand } from '../brand/brands.ts'
import { contactsOf } from '../brand/shown-brand.ts'
import { languages } from '../language.ts'
import type { ReceiptView } from './receipt-view.ts'

type Printing = {
  language: Language
  brand: Brand
  logo: Uint8Array | undefined
  url: string
  isSandbox: boolean
}

/** The PDF of a receipt. `url` is its page, where it can be checked. */
export function printedReceipt(
  view: ReceiptView,
  { language, brand, logo, url, isSandbox }: Printing,
): PrintedReceipt {
  const say = languages[language]
  const { total, currency, totalLabel } = view
  const contacts = contactsOf(brand).map(({ text }) => ({ label: say.contact, text }))
  const rows = view.rows.map(({ label, text, isMoney }) => ({
    label,
    text,
    ...(isMoney && { isMoney }),
  }))
  return {
    language,
    title: say.receiptTitle,
    banner: isSandbox ? `${say.sandboxMark} · ${say.sandbox}` : undefined,
    issuer: view.businessName,
    ...(logo && { logo }),
    state: view.title,
    description: view.description,
    total: { label: totalLabel, text: `${total.text} ${currency}` },
    rows: [...rows, ...contacts],
    check: { text: say.checkReceipt, url, qrLabel: say.receiptQr },
    time: view.changeTime,
  }
}
