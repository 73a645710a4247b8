// Tests for the conversion of protobuf timestamps to microseconds and back.

import { create } from '@bufbuild/protobuf'
import { TimestampSchema, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { microsOfTimestamp, timestampFromMicros } from './timestamps.ts'

describe('a timestamp in microseconds', () => {
  it('a timestamp in microseconds is the same instant after a round trip, also before 1970', () => {
    for (const micros of [0n, 1n, -1n, 999_999n, -1_000_000n, 1_795_000_000_123_456n]) {
      expect(microsOfTimestamp(timestampFromMicros(micros))).toBe(micros)
    }
    expect(timestampFromMicros(-1n)).toMatchObject({ seconds: -1n, nanos: 999_999_000 })
  })

  it('a timestamp in microseconds agrees with Date to the millisecond and cuts off nanoseconds', () => {
    const date = new Date('2026-11-22T10:11:12.345Z')
    expect(microsOfTimestamp(timestampFromDate(date))).toBe(BigInt(date.getTime()) * 1_000n)
    expect(microsOfTimestamp(create(TimestampSchema, { seconds: 1n, nanos: 1_999 }))).toBe(
      1_000_001n,
    )
  })
})
