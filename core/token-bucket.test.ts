// Tests that a rate is enforced per key, in bounded memory, and that a promised wait suffices.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tokenBucket } from './token-bucket.ts'

describe('a token bucket', () => {
  it('a token bucket lets a burst pass, then the rate', () => {
    const bucket = tokenBucket({ ratePerS: 2, burst: 3 })
    const answers = [0, 0, 0, 0, 499, 500, 501, 1000].map((nowMs) => bucket.take('a', nowMs).ok)
    expect(answers).toEqual([true, true, true, false, false, true, false, true])
  })

  it('a token bucket says how many whole seconds to wait', () => {
    const bucket = tokenBucket({ ratePerS: 0.1, burst: 1 })
    expect(bucket.take('a', 0)).toEqual({ ok: true, left: 0, resetS: 10 })
    expect(bucket.take('a', 0)).toEqual({ ok: false, left: 0, resetS: 10 })
    expect(bucket.take('a', 9500)).toEqual({ ok: false, left: 0, resetS: 1 })
    expect(bucket.take('a', 10_000).ok).toBe(true)
  })

  it('a token bucket says how many may still pass, and when one more may', () => {
    const bucket = tokenBucket({ ratePerS: 0.5, burst: 2.5 })
    expect(bucket.take('a', 0)).toEqual({ ok: true, left: 1, resetS: 1 })
    expect(bucket.take('a', 0)).toEqual({ ok: true, left: 0, resetS: 1 })
    expect(bucket.take('a', 1000)).toEqual({ ok: true, left: 0, resetS: 2 })
  })

  it('a token bucket counts keys apart', () => {
    const bucket = tokenBucket({ ratePerS: 1, burst: 1 })
    expect(bucket.take('a', 0).ok).toBe(true)
    expect(bucket.take('b', 0).ok).toBe(true)
    expect(bucket.take('a', 0).ok).toBe(false)
  })

  it('a token bucket forgets the key that was used least recently when it has too many', () => {
    const bucket = tokenBucket({ ratePerS: 1, burst: 1, maxKeys: 2 })
    bucket.take('a', 0)
    bucket.take('b', 0)
    expect(bucket.take('a', 0).ok).toBe(false)
    bucket.take('c', 0)
    expect(bucket.take('a', 0).ok).toBe(false)
    expect(bucket.take('b', 0).ok).toBe(true)
  })

  it('a token bucket gives nothing for a clock that is set back, and goes on from there', () => {
    const bucket = tokenBucket({ ratePerS: 1, burst: 1 })
    bucket.take('a', 100_000)
    expect(bucket.take('a', 0).ok).toBe(false)
    expect(bucket.take('a', 1000).ok).toBe(true)
  })

  it('a token bucket never lets more pass than burst plus rate, and keeps the wait that it promised', () => {
    const rates = fc.double({ min: 0.05, max: 500, noNaN: true })
    const gapsMs = fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 1, maxLength: 100 })
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 20 }), gapsMs, (ratePerS, burst, gaps) => {
        const bucket = tokenBucket({ ratePerS, burst })
        let nowMs = 0
        let passed = 0
        let wait = 0
        for (const gapMs of gaps) {
          nowMs += gapMs
          const admission = bucket.take('a', nowMs)
          if (admission.ok) passed += 1
          wait = admission.ok ? 0 : admission.resetS
          expect(admission.ok || admission.left === 0).toBe(true)
        }
        expect(passed).toBeLessThanOrEqual(burst + (nowMs * ratePerS) / 1000 + 1e-6)
        const waitMs = wait > 0 ? wait * 1000 : Math.ceil(1000 / ratePerS)
        expect(bucket.take('a', nowMs + waitMs).ok).toBe(true)
      }),
    )
  })

  it('a token bucket refuses a rate or a burst that lets nothing pass', () => {
    expect(() => tokenBucket({ ratePerS: 0, burst: 1 })).toThrow(RangeError)
    expect(() => tokenBucket({ ratePerS: 1, burst: 0 })).toThrow(RangeError)
    expect(() => tokenBucket({ ratePerS: Number.NaN, burst: 1 })).toThrow(RangeError)
  })
})
