// Says what the PDF of a receipt shows: what its page does, and where that page is. Pure.
import { type Language } from '#core/text/language.ts'
import type { PrintedReceipt } from '#platform/pdf/receipt.ts'
import { languages } from '../language.ts'
import type { ReceiptView } from './receipt-view.ts'

/** The PDF of a receipt. `url` is its page, where it can be checked. */
export function printedReceipt(
  view: ReceiptView,
  { language, url, isSandbox }: { language: Language; url: string; isSandbox: boolean },
): PrintedReceipt {
  const say = languages[language]
  const { total, currency, totalLabel, rows } = view
  return {
    language,
    title: say.receiptTitle,
    banner: isSandbox ? `${say.sandboxMark} · ${say.sandbox}` : undefined,
    issuer: view.businessName,
    state: view.title,
    description: view.description,
    total: { label: totalLabel, text: `${total.text} ${currency}` },
    rows: rows.map(({ label, text, isMoney }) => ({ label, text, ...(isMoney && { isMoney }) })),
    check: { text: say.checkReceipt, url, qrLabel: say.receiptQr },
    time: view.changeTime,
  }
}
