// Draws QR codes. What draws is read with the first page that shows one.

/** A QR code of a text, as SVG. */
export async function drawQr(text: string): Promise<string> {
  const { default: qrCode } = await import('qrcode')
  return await qrCode.toString(text, { type: 'svg', margin: 2 })
}
