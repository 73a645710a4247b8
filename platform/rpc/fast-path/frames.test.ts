// Proves that frames survive any split into chunks, and that malformed ones are refused.
import { describe, expect, it } from 'vitest'
import { type Frame, wholeFrames } from '../../testing/rpc/frame-server.ts'
import { FrameQueue, FrameReader, frameKind, maxHeadBytes } from './frames.ts'

const given: Frame[] = [
  { kind: frameKind.call, call: 1, head: '["/päth",{}]', body: Buffer.from('body') },
  { kind: frameKind.cancel, call: 0xff_ff_ff_ff, head: '', body: Buffer.alloc(0) },
  { kind: frameKind.answer, call: 7, head: '', body: Buffer.alloc(3_000, 7) },
]

function written(): Buffer {
  const queue = new FrameQueue()
  for (const { kind, call, head, body } of given)
    expect(queue.add(kind, call, head, body)).toBe(true)
  const bytes = queue.take()
  expect(queue.isEmpty).toBe(true)
  return bytes
}

function collecting(maxBytes = 4_096) {
  const frames: Frame[] = []
  return { frames, reader: wholeFrames(maxBytes, (frame) => void frames.push(frame)) }
}

describe('frames', () => {
  it.each([1, 2, 3, 5, 11, 64, 10_000])('frames come whole out of pieces of %i bytes', (length) => {
    const { frames, reader } = collecting()
    const bytes = written()
    for (let at = 0; at < bytes.length; at += length) reader.read(bytes.subarray(at, at + length))
    expect(frames).toEqual(given)
    expect(reader.isWithin).toBe(false)
  })

  it('frames whose head is not wanted are dropped as they come, and the next one is read', () => {
    const bodies: string[] = []
    const announced: number[] = []
    const bytes = written()
    for (const length of [1, 7, 64, bytes.length]) {
      let most = 0
      const reader = new FrameReader(4_096, ({ kind, head, bodyBytes }) => {
        announced.push(bodyBytes)
        if (kind !== frameKind.call) return undefined
        return (body) => void bodies.push(`${head} ${body.toString()}`)
      })
      for (let at = 0; at < bytes.length; at += length) {
        reader.read(bytes.subarray(at, at + length))
        most = Math.max(most, reader.headBytes)
      }
      expect(most).toBeLessThan(bytes.length)
      expect(reader).toMatchObject({ isWithin: false, headBytes: 0 })
    }
    expect(announced).toEqual(Array.from({ length: 4 }, () => [4, 0, 3_000]).flat())
    expect(bodies).toEqual(Array.from({ length: 4 }, () => '["/päth",{}] body'))
  })

  it('frames that are incomplete are reported', () => {
    const { reader } = collecting()
    reader.read(written().subarray(0, -1))
    expect(reader.isWithin).toBe(true)
  })

  it('frames that are too long, too short, or whose head is longer than they are, are refused', () => {
    const long = Buffer.from('00001100010000000100000000', 'hex')
    const short = Buffer.from('000000060100000001000000', 'hex')
    const crooked = Buffer.from('0000000701000000010001', 'hex')
    for (const bytes of [long, short, crooked]) {
      expect(() => collecting().reader.read(bytes)).toThrow(RangeError)
    }
  })

  it('frames with a head that is too long are not taken', () => {
    const queue = new FrameQueue()
    expect(queue.add(frameKind.call, 1, 'x'.repeat(maxHeadBytes + 1))).toBe(false)
    expect(queue.isEmpty).toBe(true)
  })
})
