// Makes and reads the `traceparent` values of W3C trace context.

import { randomFillSync } from 'node:crypto'

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const zeroTrace = '0'.repeat(32)
const zeroSpan = '0'.repeat(16)

// Random bytes are drawn 4 KiB at a time: one draw per identifier costs more than the rest of the work.
const pool = Buffer.alloc(4096)
let poolOffset = pool.length

function randomHex(bytes: number): string {
  if (poolOffset + bytes > pool.length) {
    randomFillSync(pool)
    poolOffset = 0
  }
  const text = pool.toString('hex', poolOffset, poolOffset + bytes)
  poolOffset += bytes
  return text
}

/** A new sampled trace with its first span, as a W3C `traceparent`. */
export function newTraceparent(): string {
  return `00-${randomHex(16)}-${randomHex(8)}-01`
}

/** A span below `parent`, in the same trace; a new trace when `parent` is absent or malformed. */
export function childTraceparent(parent: string | null | undefined): string {
  if (parent === null || parent === undefined) return newTraceparent()
  const match = traceparentPattern.exec(parent)
  if (match === null || match[1] === zeroTrace || match[2] === zeroSpan) return newTraceparent()
  return `00-${match[1]}-${randomHex(8)}-${match[3]}`
}

/** The parts of a `traceparent`, ids in hex; undefined when it is absent or malformed. */
export function readTraceparent(
  text: string | null | undefined,
): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const [, traceId = zeroTrace, spanId = zeroSpan, flags = ''] =
    traceparentPattern.exec(text ?? '') ?? []
  if (traceId === zeroTrace || spanId === zeroSpan) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
