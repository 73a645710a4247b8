// Draws a receipt as a tagged PDF with embedded fonts. It runs in a worker: reading fonts takes tens of milliseconds.
import { buffer } from 'node:stream/consumers'
import Pdf from 'pdfkit'
import qrCode from 'qrcode'
import { directionOf, type Language } from '#core/text/language.ts'
import { fontFileOf, readFont, type Weight } from './fonts.ts'
import { hasRightToLeft, type Line, type Setting, setLines } from './lines.ts'

/** One line of a receipt. Money is read from left to right in every language. */
export type PrintedRow = { label: string; text: string; isMoney?: boolean }

/** What is printed. */
export type PrintedReceipt = {
  language: Language
  /** Title of the document and heading of the page. */
  title: string
  /** Says that no real money moved; undefined where it did. */
  banner?: string | undefined
  /** Who gives the receipt, and their logo as PNG. */
  issuer: string
  logo?: Uint8Array
  /** Says whether the money was paid, returned or not taken. */
  state: string
  description?: string
  total: PrintedRow
  rows: PrintedRow[]
  /** Where the receipt can be checked. */
  check?: { text: string; url: string; qrLabel: string }
  /** Of the document. The same receipt is printed the same each time. */
  time: Date
}

type Style = { size: number; weight?: Weight; colour?: string; direction?: 'ltr' | 'rtl' }
/** Position of a block: its edges, and the edge that its lines begin at. */
type Box = { left: number; width: number; y: number; isFromRight: boolean }

const margin = 36
const a5 = { width: 419.53, height: 595.28 }
const innerWidth = a5.width - 2 * margin
const labelWidth = 120
const gap = 12
const lineHeight = 1.45
const qrSize = 96
const logoSize = { width: 120, height: 40 }
const maxDescription = 200
/** ISO 14289, which the types of the library lack. */
const pdfUa = 'PDF/UA' as string as PDFKit.Mixins.PDFSubsets
const ink = '#16191d'
const muted = '#545c66'
const hair = '#dde1e6'

/** The receipt on one page of A5, or a longer one where its texts are. Rejects with the library's error. */
export async function drawReceipt(receipt: PrintedReceipt): Promise<Buffer> {
  const usual = await drawPage(receipt, a5.height)
  if (usual.end <= a5.height - margin) return usual.pdf
  return (await drawPage(receipt, usual.end + margin)).pdf
}

async function drawPage(
  receipt: PrintedReceipt,
  height: number,
): Promise<{ pdf: Buffer; end: number }> {
  const { language, title, time } = receipt
  const page = new Pdf({
    size: [a5.width, height],
    margin,
    // None of its own: a reader of the document may lack it.
    font: '',
    lang: language,
    displayTitle: true,
    tagged: true,
    pdfVersion: '1.7',
    subset: pdfUa,
    info: { Title: title, CreationDate: time, ModDate: time },
  })
  const printed = buffer(page)
  const end = drawAll(page, receipt)
  page.end()
  return { pdf: await printed, end }
}

/** Returns where the page ends. */
function drawAll(page: PDFKit.PDFDocument, receipt: PrintedReceipt): number {
  const isFromRight = directionOf(receipt.language) === 'rtl'
  const root = page.struct('Document')
  page.addStructure(root)
  let y = margin
  const add = (type: string, text: string, style: Style) => {
    if (text === '') return
    const box = { left: margin, width: innerWidth, y, isFromRight }
    const block = setBlock(page, text, box, style)
    root.add(page.struct(type, spoken(text), [block.draw]))
    ;({ y } = block)
  }
  const own = directionOf(receipt.language)
  add('P', receipt.banner ?? '', { size: 10, weight: 'bold', direction: own })
  if (receipt.logo !== undefined) y = drawLogo(page, receipt.logo, { y, isFromRight })
  add('P', receipt.issuer, { size: 12, weight: 'bold' })
  y += gap / 2
  add('H1', receipt.title, { size: 18, weight: 'bold', direction: own })
  add('P', receipt.state, { size: 12, direction: own })
  y += gap / 2
  add('P', receipt.total.label, { size: 10, colour: muted, direction: own })
  add('P', receipt.total.text, { size: 22, weight: 'bold', direction: 'ltr' })
  add('P', shortened(receipt.description ?? ''), { size: 10, colour: muted })
  y += gap
  const table = page.struct('Table')
  root.add(table)
  for (const row of receipt.rows) y = drawRow(page, table, row, { y, isFromRight, own })
  table.end()
  y += gap
  if (receipt.check !== undefined) y = drawCheck(page, root, receipt.check, { y, isFromRight, own })
  root.end()
  return y
}

/** The name beside it says what a logo does. */
function drawLogo(
  page: PDFKit.PDFDocument,
  logo: Uint8Array,
  { y, isFromRight }: { y: number; isFromRight: boolean },
): number {
  page.markContent('Artifact')
  const left = isFromRight ? margin + innerWidth - logoSize.width : margin
  const align = isFromRight ? { align: 'right' as const } : {}
  page.image(Buffer.from(logo), left, y, { fit: [logoSize.width, logoSize.height], ...align })
  page.endMarkedContent()
  return y + logoSize.height + gap / 2
}

/** Options of an element that the types of the library lack. */
function structure(options: object): PDFKit.Mixins.StructureElementOptions {
  return options
}

/** What is read aloud where glyphs stand in another order than the letters do. */
function spoken(text: string): { actual?: string } {
  return hasRightToLeft(text) ? { actual: text } : {}
}

function shortened(text: string): string {
  return text.length > maxDescription ? `${text.slice(0, maxDescription)}…` : text
}

type RowBox = { y: number; isFromRight: boolean; own: 'ltr' | 'rtl' }

function drawRow(
  page: PDFKit.PDFDocument,
  table: PDFKit.PDFStructureElement,
  { label, text, isMoney = false }: PrintedRow,
  { y, isFromRight, own }: RowBox,
): number {
  page.markContent('Artifact')
  page
    .moveTo(margin, y)
    .lineTo(margin + innerWidth, y)
    .lineWidth(0.5)
    .stroke(hair)
  page.endMarkedContent()
  const valueWidth = innerWidth - labelWidth
  const labelLeft = isFromRight ? margin + valueWidth : margin
  const valueLeft = isFromRight ? margin : margin + labelWidth
  const top = y + 4
  const head = setBlock(
    page,
    label,
    { left: labelLeft, width: labelWidth, y: top, isFromRight },
    { size: 9, colour: muted, direction: own },
  )
  const cell = setBlock(
    page,
    text,
    { left: valueLeft, width: valueWidth, y: top, isFromRight },
    { size: 10, ...(isMoney && { direction: 'ltr' }) },
  )
  const line = page.struct('TR')
  table.add(line)
  line.add(page.struct('TH', structure({ scope: 'Row', ...spoken(label) }), [head.draw]))
  line.add(page.struct('TD', spoken(text), [cell.draw]))
  line.end()
  return Math.max(head.y, cell.y) + 2
}

function drawCheck(
  page: PDFKit.PDFDocument,
  root: PDFKit.PDFStructureElement,
  { text, url, qrLabel }: NonNullable<PrintedReceipt['check']>,
  { y, isFromRight, own }: RowBox,
): number {
  const qrLeft = isFromRight ? margin + innerWidth - qrSize : margin
  const bbox: [number, number, number, number] = [qrLeft, y, qrLeft + qrSize, y + qrSize]
  const draw = () => drawQr(page, url, { left: qrLeft, top: y })
  root.add(page.struct('Figure', structure({ alt: qrLabel, bbox, placement: 'Block' }), [draw]))
  const box = {
    left: isFromRight ? margin : margin + qrSize + gap,
    width: innerWidth - qrSize - gap,
    isFromRight,
  }
  const words = setBlock(page, text, { ...box, y }, { size: 9, direction: own })
  root.add(page.struct('P', spoken(text), [words.draw]))
  const address = setBlock(
    page,
    url,
    { ...box, y: words.y + 4 },
    { size: 8, direction: 'ltr' },
    url,
  )
  const line = page.struct('P')
  root.add(line)
  line.add(page.struct('Link', {}, [address.draw]))
  line.end()
  return Math.max(y + qrSize, address.y)
}

function drawQr(
  page: PDFKit.PDFDocument,
  text: string,
  { left, top }: { left: number; top: number },
): void {
  const { modules } = qrCode.create(text)
  const side = qrSize / modules.size
  for (let row = 0; row < modules.size; row += 1) {
    for (let column = 0; column < modules.size; column += 1) {
      if (modules.get(row, column)) {
        page.rect(left + column * side, top + row * side, side, side)
      }
    }
  }
  page.fill('#000000')
}

/** A text in its box: what draws it, and where it ends. `link` makes each line of it one. */
function setBlock(
  page: PDFKit.PDFDocument,
  text: string,
  { left, width, y, isFromRight }: Box,
  { size, weight = 'regular', colour = ink, direction }: Style,
  link?: string,
): { draw: () => void; y: number } {
  const lines = setLines(text, settingOf(page, { size, weight, direction, width }))
  const step = size * lineHeight
  const drawLine = (line: Line, baseline: number) => {
    let x = isFromRight ? left + width - line.width : left
    for (const piece of line.pieces) {
      useFont(page, piece.font).fontSize(size).fillColor(colour)
      const features = featuresOf(piece.text)
      const options = { lineBreak: false, features, baseline: 'alphabetic' as const }
      page.text(piece.text, x, baseline, link === undefined ? options : { ...options, link })
      x += piece.width
    }
  }
  return {
    y: y + lines.length * step,
    draw: () => {
      for (const [at, line] of lines.entries()) drawLine(line, y + at * step + size * 1.1)
    },
  }
}

function settingOf(
  page: PDFKit.PDFDocument,
  {
    size,
    weight,
    direction,
    width,
  }: Required<Pick<Style, 'size' | 'weight'>> & {
    direction: Style['direction'] | undefined
    width: number
  },
): Setting {
  return {
    width,
    direction,
    fontOf: (letter, before) => fontFileOf(letter, weight, before),
    widthOf: (text, font) =>
      useFont(page, font)
        .fontSize(size)
        .widthOfString(text, { features: featuresOf(text) }),
  }
}

/**
 * What the shaper does besides the usual. Letters of Latin and the like stay whole: one that is taken apart into letter and
 * mark cannot be copied from the document.
 */
function featuresOf(text: string) {
  // The library writes into what it is given.
  return (hasRightToLeft(text) ? [] : { ccmp: false }) as PDFKit.Mixins.OpenTypeFeatures[]
}

/** Selects the font of a file; a document reads each once. */
function useFont(page: PDFKit.PDFDocument, file: string): PDFKit.PDFDocument {
  return page.registerFont(file, readFont(file)).font(file)
}
