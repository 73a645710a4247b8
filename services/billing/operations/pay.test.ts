// How long the steps of a bill payment may take.
import { expect, it } from 'vitest'
import { ledgerTimeoutMs } from './pay.ts'

// The gateway waits for the biller's time and 4.5 s in all, and 15 s after it began a payment may not be given to its biller any more.
it.each([
  [1_000, 2_000],
  [8_000, 3_750],
  [20_000, 6_000],
  [50_000, 6_000],
])('a call to a biller of %i ms leaves the ledger %i ms, twice', (billerMs, ledgerMs) => {
  expect(ledgerTimeoutMs(billerMs)).toBe(ledgerMs)
})
