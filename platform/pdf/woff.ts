// Unpacks WOFF 1.0 (W3C Recommendation) to the font that it holds: the library of the PDFs inflates a table for every letter.
import { inflateSync } from 'node:zlib'

const headerBytes = 44
const entryBytes = 20
const sfntHeaderBytes = 12
const sfntEntryBytes = 16

/** The OpenType font in a WOFF file. Throws for a file that is damaged. */
export function unpackWoff(woff: Buffer): Buffer {
  const count = woff.readUInt16BE(12)
  const tables = Array.from({ length: count }, (_, at) => {
    const entry = headerBytes + at * entryBytes
    const offset = woff.readUInt32BE(entry + 4)
    const packedBytes = woff.readUInt32BE(entry + 8)
    const bytes = woff.readUInt32BE(entry + 12)
    const packed = woff.subarray(offset, offset + packedBytes)
    return {
      tag: woff.subarray(entry, entry + 4),
      checksum: woff.readUInt32BE(entry + 16),
      content: packedBytes < bytes ? inflateSync(packed) : packed,
    }
  })
  const header = Buffer.alloc(sfntHeaderBytes + count * sfntEntryBytes)
  woff.copy(header, 0, 4, 8)
  header.writeUInt16BE(count, 4)
  const parts: Buffer[] = [header]
  let offset = header.length
  for (const [at, { tag, checksum, content }] of tables.entries()) {
    const entry = sfntHeaderBytes + at * sfntEntryBytes
    tag.copy(header, entry)
    header.writeUInt32BE(checksum, entry + 4)
    header.writeUInt32BE(offset, entry + 8)
    header.writeUInt32BE(content.length, entry + 12)
    // Tables begin at multiples of four bytes.
    const padding = Buffer.alloc((4 - (content.length % 4)) % 4)
    parts.push(content, padding)
    offset += content.length + padding.length
  }
  return Buffer.concat(parts)
}
