// Prints a receipt as PDF, with the fields of the contract's receipt only.
import { buffer } from 'node:stream/consumers'
import { formatAmount } from '#core/money/money.ts'
import { formatIso } from '#core/text/time.ts'

/** What is printed. */
export type PrintedReceipt = {
  receiptId: string
  transactionId: string
  amountMinor: bigint
  currency: string
  billerName: string
  productName: string
  customerReference: string
  externalReference: string | undefined
  clientReceiptId: string | undefined
  endTime: Date
}

const margin = 36
const labelWidth = 120
const valueWidth = 227

/** The receipt on one small page. The same payment is printed the same each time. */
export async function printReceipt(receipt: PrintedReceipt): Promise<Buffer> {
  // Read when the first receipt is printed: a process that prints none starts sooner and is smaller.
  const { default: Pdf } = await import('pdfkit')
  const page = new Pdf({
    size: 'A5',
    margin,
    lang: 'en',
    displayTitle: true,
    info: { Title: `Receipt ${receipt.receiptId}`, CreationDate: receipt.endTime },
  })
  const printed = buffer(page)
  page.font('Helvetica-Bold').fontSize(18).text('Payment receipt')
  page.fontSize(13).text(receipt.receiptId).moveDown()
  for (const [label, value] of linesOf(receipt)) addLine(page, label, value)
  page.end()
  return await printed
}

function linesOf(receipt: PrintedReceipt): [string, string][] {
  const { currency, amountMinor, externalReference = '', clientReceiptId = '' } = receipt
  const lines: [string, string][] = [
    ['Amount', `${formatAmount(amountMinor, currency)} ${currency}`],
    ['Biller', receipt.billerName],
    ['Product', receipt.productName],
    ['Customer reference', receipt.customerReference],
    ['Paid at (UTC)', formatIso(receipt.endTime)],
    ['Transaction', receipt.transactionId],
    ['Order reference', externalReference],
    ['Client receipt', clientReceiptId],
  ]
  return lines.filter(([, value]) => value !== '')
}

function addLine(page: PDFKit.PDFDocument, label: string, value: string): void {
  const top = page.y
  page.font('Helvetica').fontSize(9).fillColor('#555555')
  page.text(label, margin, top, { width: labelWidth })
  page.fontSize(10).fillColor('#000000')
  page.text(printable(value), margin + labelWidth, top, { width: valueWidth })
  page.moveDown(0.6)
}

// The fonts of every PDF reader know Latin letters alone; a reader of ours must not need others.
function printable(text: string): string {
  return text.replace(/[^\u0020-\u007e\u00a1-\u00ff]/gu, '?')
}
