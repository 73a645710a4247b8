// Checks a logo and keeps only the chunks that draw it: no texts, no location of a photo, no second image.
import { crc32, inflateSync } from 'node:zlib'
import { invalid } from '#core/errors/errors.ts'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const maxSide = 512
const headerBytes = 13
const palette = 3
/** Samples of a pixel and bits of a sample by colour type: grey, RGB, palette, grey with alpha, RGB with alpha (ISO/IEC 15948, table 9). */
const colourTypes: Readonly<Record<number, { samples: number; depths: readonly number[] }>> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  [palette]: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
}
const maxFilter = 4

type Chunk = { type: string; content: Buffer }
type Header = { width: number; height: number; depth: number; colourType: number; samples: number }

/** The PNG without metadata. INVALID_PARAMETER for anything but one still image of at most 512 pixels a side. */
export function requireLogo(png: Buffer): Buffer {
  const chunks = chunksOf(png)
  const all = (type: string) => chunks.filter((chunk) => chunk.type === type)
  if (all('acTL').length > 0) throw refused('must not be animated')
  const header = headerOf(chunks)
  const colours = coloursOf(header, all('PLTE'), all('tRNS'))
  const pixels = pixelsOf(header, Buffer.concat(all('IDAT').map(({ content }) => content)))
  const kept = [...all('IHDR'), ...colours, { type: 'IDAT', content: pixels }, ...all('IEND')]
  return Buffer.concat([signature, ...kept.map(writeChunk)])
}

function refused(rule = 'must be a PNG') {
  return invalid('logo_png', rule)
}

/** Every chunk up to the last, with the right checksum. */
function chunksOf(png: Buffer): Chunk[] {
  const chunks: Chunk[] = []
  const isPng = png.subarray(0, signature.length).equals(signature)
  let at = isPng ? signature.length : png.length
  while (at + 12 <= png.length) {
    const end = at + 8 + png.readUInt32BE(at)
    if (end + 4 > png.length) break
    if (crc32(png.subarray(at + 4, end)) !== png.readUInt32BE(end)) break
    const type = png.toString('latin1', at + 4, at + 8)
    chunks.push({ type, content: png.subarray(at + 8, end) })
    if (type === 'IEND') return chunks
    at = end + 4
  }
  throw refused()
}

function headerOf(chunks: Chunk[]): Header {
  const [first] = chunks
  const isAlone = chunks.filter(({ type }) => type === 'IHDR').length === 1
  const isEmptyAtEnd = chunks.at(-1)?.content.length === 0
  if (first?.type !== 'IHDR' || !isAlone || !isEmptyAtEnd) throw refused()
  const { content } = first
  if (content.length !== headerBytes) throw refused()
  const [width, height] = [content.readUInt32BE(0), content.readUInt32BE(4)]
  const [depth = 0, colourType = 0, compression, filtering, interlacing] = content.subarray(8)
  const colours = colourTypes[colourType]
  if (colours?.depths.includes(depth) !== true || compression !== 0 || filtering !== 0) {
    throw refused()
  }
  if ([width, height].some((side) => side < 1 || side > maxSide)) {
    throw refused(`must be 1 to ${maxSide} pixels wide and high`)
  }
  if (interlacing !== 0) throw refused('must not be interlaced')
  return { width, height, depth, colourType, samples: colours.samples }
}

/** The palette, and which colours are transparent. What a colour type has no use for is left out. */
function coloursOf(
  { colourType, depth, samples }: Header,
  palettes: Chunk[],
  transparent: Chunk[],
) {
  const lengthOf = (list: Chunk[]) => list[0]?.content.length ?? 0
  const colours = lengthOf(palettes) / 3
  if (colourType === palette) {
    const isSound = Number.isInteger(colours) && colours >= 1 && colours <= 2 ** depth
    if (!isSound || lengthOf(transparent) > colours) throw refused()
    return [...palettes.slice(0, 1), ...transparent.slice(0, 1)]
  }
  if (colourType > palette || transparent.length === 0) return []
  if (lengthOf(transparent) !== 2 * samples) throw refused()
  return transparent.slice(0, 1)
}

/**
 * The image data without trailing bytes. It must be exactly the pixels that the header declares, so that a program that
 * draws it needs no more memory than that.
 */
function pixelsOf({ width, height, depth, samples }: Header, data: Buffer): Buffer {
  const rowBytes = 1 + Math.ceil((width * depth * samples) / 8)
  const { rows, readBytes } = inflated(data, height * rowBytes)
  if (rows.length !== height * rowBytes) throw refused()
  for (let at = 0; at < rows.length; at += rowBytes) {
    if (rows.readUInt8(at) > maxFilter) throw refused()
  }
  return data.subarray(0, readBytes)
}

function inflated(data: Buffer, maxOutputLength: number): { rows: Buffer; readBytes: number } {
  try {
    // The types lack what `info` makes of the result.
    const { buffer, engine } = inflateSync(data, { maxOutputLength, info: true }) as unknown as {
      buffer: Buffer
      engine: { bytesWritten: number }
    }
    return { rows: buffer, readBytes: engine.bytesWritten }
  } catch {
    throw refused()
  }
}

function writeChunk({ type, content }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(content.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}
