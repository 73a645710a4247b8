// How durations of the test clock are read.
import { expect, it } from 'vitest'
import { durationMs } from './clock.ts'
import { UsageError } from './usage-error.ts'

it.each([
  ['90s', 90_000n],
  ['25h', 90_000_000n],
  ['3d12h', 302_400_000n],
  ['1d2h3m4s', 93_784_000n],
  ['0s', 0n],
])('the duration %s is %i ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
})

it.each(['', '90', '-1h', '1h1d', '1.5h', '1 d', '25 hours', '1d1d'])(
  '%j is no duration',
  (text) => {
    expect(() => durationMs(text)).toThrow(UsageError)
  },
)
