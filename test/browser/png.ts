// Makes a browser's screenshot small: a picture of few colours needs one byte a pixel and not three or four.
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const maxColours = 256
const channelsOf: Record<number, number> = { 2: 3, 6: 4 }

/** The same picture with a palette. Beyond 256 colours the rarest, those of letters' edges, become their nearest. */
export function shrinkPng(png: Buffer): Buffer {
  const { header, pixels } = readChunks(png)
  const width = header.readUInt32BE(0)
  const height = header.readUInt32BE(4)
  const channels = channelsOf[header.readUInt8(9)]
  if (channels === undefined || header.readUInt8(8) !== 8 || header.readUInt8(12) !== 0) return png
  const plain = unfilter(pixels, { width, height, channels })
  const colours = Array.from({ length: width * height }, (_, pixel) =>
    plain.readUIntBE(pixel * channels, 3),
  )
  const { palette, numberOf } = paletteOf(colours)
  const rows = Buffer.alloc((width + 1) * height)
  for (const [pixel, colour] of colours.entries()) {
    rows[pixel + Math.floor(pixel / width) + 1] = numberOf.get(colour) ?? 0
  }
  header.writeUInt8(3, 9)
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.concat(palette.map(partsOf))),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

const partsOf = (colour: number): Buffer =>
  Buffer.from([colour >> 16, (colour >> 8) & 255, colour & 255])

/** The colours that are used most, and which of them stands for each colour. */
function paletteOf(colours: number[]): { palette: number[]; numberOf: Map<number, number> } {
  const uses = new Map<number, number>()
  for (const colour of colours) uses.set(colour, (uses.get(colour) ?? 0) + 1)
  const byUse = [...uses].toSorted(([, one], [, other]) => other - one).map(([colour]) => colour)
  const palette = byUse.slice(0, maxColours)
  const numberOf = new Map(palette.map((colour, number) => [colour, number]))
  for (const colour of byUse.slice(maxColours)) numberOf.set(colour, nearest(palette, colour))
  return { palette, numberOf }
}

function nearest(palette: number[], colour: number): number {
  const [red = 0, green = 0, blue = 0] = partsOf(colour)
  const distances = palette.map((one) => {
    const [r = 0, g = 0, b = 0] = partsOf(one)
    return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2
  })
  return distances.indexOf(Math.min(...distances))
}

function readChunks(png: Buffer): { header: Buffer; pixels: Buffer } {
  const found: Record<string, Buffer[]> = {}
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const name = png.toString('latin1', at + 4, at + 8)
    const list = (found[name] ??= [])
    list.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const [header] = found['IHDR'] ?? []
  if (header === undefined) throw new Error('not a PNG')
  return { header: Buffer.from(header), pixels: inflateSync(Buffer.concat(found['IDAT'] ?? [])) }
}

function chunk(name: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), content])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(content.length, 0)
  body.copy(whole, 4)
  whole.writeUInt32BE(crc32(body), body.length + 4)
  return whole
}

type Shape = { width: number; height: number; channels: number }

/** Takes the filter of each row back, as the PNG standard has it. */
function unfilter(filtered: Buffer, { width, height, channels }: Shape): Buffer {
  const stride = width * channels
  const plain = Buffer.alloc(stride * height)
  for (let row = 0; row < height; row += 1) {
    const filter = filtered[row * (stride + 1)] ?? 0
    for (let column = 0; column < stride; column += 1) {
      const at = row * stride + column
      const left = column < channels ? 0 : (plain[at - channels] ?? 0)
      const up = row === 0 ? 0 : (plain[at - stride] ?? 0)
      const corner = column < channels || row === 0 ? 0 : (plain[at - stride - channels] ?? 0)
      plain[at] = (filtered[at + row + 1] ?? 0) + predicted(filter, left, up, corner)
    }
  }
  return plain
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  return filter === 4 ? paeth(left, up, corner) : 0
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner
  const toLeft = Math.abs(guess - left)
  const toUp = Math.abs(guess - up)
  const toCorner = Math.abs(guess - corner)
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}
