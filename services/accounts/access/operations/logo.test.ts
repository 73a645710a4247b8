// Tests what is taken as a logo, that nothing but its pixels is kept, and that a receipt can print it.
import { expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { drawReceipt } from '#platform/pdf/receipt.ts'
import { pngChunk, samplePng } from '../../../../test/support/files/png.ts'
import { requireLogo } from './logo.ts'

const script = Buffer.from('Comment\u0000<script>alert(1)</script>', 'latin1')
const sixteenColours = pngChunk('PLTE', Buffer.alloc(48, 0x33))

function refusal(png: Buffer): string {
  try {
    requireLogo(png)
  } catch (error) {
    if (error instanceof Failure) return `${error.reason}: ${error.message}`
    throw error
  }
  return 'taken'
}

it('a logo is kept as it is', () => {
  expect(requireLogo(samplePng())).toEqual(samplePng())
})

const receipt = {
  language: 'en',
  title: 'Receipt',
  issuer: 'Demo Store',
  state: 'Paid',
  total: { label: 'Total', text: '1.00 USD' },
  rows: [],
  check: { text: 'Check', url: 'https://pay.example/receipts/x', qrLabel: 'QR code' },
  time: new Date(0),
} as const

it.each([
  ['grey', 0, [1, 2, 4, 8, 16]],
  ['red, green and blue', 2, [8, 16]],
  ['grey with transparency', 4, [8, 16]],
  ['red, green and blue with transparency', 6, [8, 16]],
])('a logo in %s is kept and can be printed', async (_, colourType, depths) => {
  for (const depth of depths) {
    const png = samplePng({ colourType, depth })
    expect(requireLogo(png)).toEqual(png)
    const pdf = await drawReceipt({ ...receipt, rows: [], logo: png })
    expect(pdf.toString('latin1')).toContain('/Subtype /Image')
  }
})

it('a logo with a palette keeps it, and which of its colours are transparent', async () => {
  const more = [sixteenColours, pngChunk('tRNS', Buffer.from([0, 128]))]
  for (const depth of [4, 8]) {
    const png = samplePng({
      colourType: 3,
      depth,
      more,
      pixels: Buffer.alloc(40 * (1 + 5 * depth)),
    })
    expect(requireLogo(png)).toEqual(png)
    const pdf = await drawReceipt({ ...receipt, rows: [], logo: png })
    expect(pdf.toString('latin1')).toContain('/Subtype /Image')
  }
})

it.each([
  ['texts', { more: [pngChunk('tEXt', script)] }],
  ['places and colour profiles', { more: [pngChunk('eXIf', script), pngChunk('iCCP', script)] }],
  ['a palette that it has no use for', { more: [sixteenColours] }],
  ['what follows its pixels', { afterPixels: script }],
])('a logo loses %s', (_, what) => {
  expect(requireLogo(samplePng(what))).toEqual(samplePng())
})

it('a logo loses what follows its end', () => {
  expect(requireLogo(Buffer.concat([samplePng(), script]))).toEqual(samplePng())
})

const damaged = samplePng()
damaged.writeUInt8(damaged.readUInt8(60) ^ 1, 60)
const widths = 'must be 1 to 512 pixels wide and high'

it.each([
  ['nothing', Buffer.alloc(0), 'must be a PNG'],
  ['a text', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'must be a PNG'],
  ['a JPEG', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]), 'must be a PNG'],
  ['half a PNG', samplePng().subarray(0, 50), 'must be a PNG'],
  ['a PNG with a wrong checksum', damaged, 'must be a PNG'],
  ['a PNG with two headers', samplePng({ more: [samplePng().subarray(8, 33)] }), 'must be a PNG'],
  ['a PNG with a text in its end', samplePng({ end: script }), 'must be a PNG'],
  ['a PNG without all pixels', samplePng({ pixels: Buffer.alloc(10) }), 'must be a PNG'],
  ['a PNG with more pixels', samplePng({ pixels: Buffer.alloc(1_000_000) }), 'must be a PNG'],
  ['a PNG with an unknown filter', samplePng({ pixels: Buffer.alloc(4_840, 5) }), 'must be a PNG'],
  ['a PNG with a wrong depth', samplePng({ depth: 255 }), 'must be a PNG'],
  ['a PNG with an unknown colour type', samplePng({ colourType: 7 }), 'must be a PNG'],
  ['a PNG with an unknown compression', samplePng({ compression: 1 }), 'must be a PNG'],
  ['a PNG without its palette', samplePng({ colourType: 3 }), 'must be a PNG'],
  [
    'a PNG with too large a palette',
    samplePng({ colourType: 3, depth: 2, more: [sixteenColours] }),
    'must be a PNG',
  ],
  [
    'a PNG with a wrong transparent colour',
    samplePng({ more: [pngChunk('tRNS', Buffer.alloc(5))] }),
    'must be a PNG',
  ],
  [
    'an animation',
    samplePng({ more: [pngChunk('acTL', Buffer.alloc(8))] }),
    'must not be animated',
  ],
  ['an interlaced image', samplePng({ interlace: 1 }), 'must not be interlaced'],
  ['an image without width', samplePng({ width: 0 }), widths],
  ['an image of a huge height', samplePng({ width: 1, height: 513 }), widths],
])('a logo that is %s is refused', (_, png, rule) => {
  expect(refusal(png)).toBe(`INVALID_PARAMETER: logo_png ${rule}`)
})
