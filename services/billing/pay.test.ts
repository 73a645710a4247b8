// How long the steps of a bill payment may take.
import { expect, it } from 'vitest'
import { ledgerTimeoutMs } from './pay.ts'

// The gateway waits for 58 s in all, and 15 s after it began a payment may not be given to its biller any more.
it.each([
  [8_000, 6_000],
  [20_000, 6_000],
  [50_000, 2_500],
])('beside a biller of %i ms the ledger has %i ms, twice', (billerMs, ledgerMs) => {
  expect(ledgerTimeoutMs(billerMs)).toBe(ledgerMs)
})
