// Makes PNG files, sound and damaged.
import { crc32, deflateSync } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Samples of a pixel by colour type: grey, RGB, palette, grey with alpha, RGB with alpha. */
const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

/** One chunk with its checksum. */
export function pngChunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(content.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

/** A PNG of one colour, with `more` chunks before its pixels; `pixels` replaces them. */
export function samplePng({
  width = 40,
  height = 40,
  depth = 8,
  colourType = 2,
  compression = 0,
  interlace = 0,
  more = [] as Buffer[],
  pixels = undefined as Buffer | undefined,
  afterPixels = Buffer.alloc(0),
  end = Buffer.alloc(0),
} = {}): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colourType, compression, 0, interlace], 8)
  const rowBytes = Math.ceil((width * depth * (samples[colourType] ?? 1)) / 8)
  const row = Buffer.alloc(1 + rowBytes, 0x66)
  row.writeUInt8(0, 0)
  const rows = pixels ?? Buffer.concat(Array.from({ length: height }, () => row))
  return Buffer.concat([
    signature,
    pngChunk('IHDR', header),
    ...more,
    pngChunk('IDAT', Buffer.concat([deflateSync(rows), afterPixels])),
    pngChunk('IEND', end),
  ])
}
