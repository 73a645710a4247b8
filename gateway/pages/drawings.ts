// Draws QR codes and barcodes as SVG. What draws is read with the first page that shows one: many gateways show none.

/** A QR code of a text. */
export async function drawQr(text: string): Promise<string> {
  const { default: qrCode } = await import('qrcode')
  return await qrCode.toString(text, { type: 'svg', margin: 2 })
}

/** A Code 128 barcode of digits; blanks between them are left out. */
export async function drawBarcode(code: string): Promise<string> {
  const { default: JsBarcode } = await import('jsbarcode')
  const drawn: { encodings?: { data: string }[] } = {}
  JsBarcode(drawn, code.replaceAll(/\D/g, ''), { format: 'CODE128C' })
  const modules = (drawn.encodings ?? []).map(({ data }) => data).join('')
  const bars = [...modules.matchAll(/1+/g)].map(
    ({ 0: bar, index }) => `M${index + quietModules} 0h${bar.length}v1h-${bar.length}z`,
  )
  const width = modules.length + 2 * quietModules
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 1" preserveAspectRatio="none"><path d="${bars.join('')}"/></svg>`
}

/** The blank margin that a reader needs on each side, in widths of the thinnest bar. */
const quietModules = 10
