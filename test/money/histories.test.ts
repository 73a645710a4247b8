// Random histories of quotes, transactions, fees and currencies, one step at a time and all at once: nobody makes money.
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectSound, settle } from './audit.ts'
import { type Harness, startHarness } from './harness.ts'
import { newLedger, run, step } from './history.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

// Shrinking a history over real services would take minutes: a failure shows it whole, with the seed that repeats it.
const whole = { endOnFailure: true }
const seen = { made: 0, exchanged: 0, refusals: new Set<string>() }

function note(ledger: Awaited<ReturnType<typeof newLedger>>): void {
  seen.made += ledger.made.size
  for (const { transaction } of ledger.made.values())
    if (transaction.quoteId !== '') seen.exchanged += 1
  for (const reason of ledger.refusals) seen.refusals.add(reason)
}

describe('any history', () => {
  it('any history makes no money and keeps the limits when its steps come one by one', async () => {
    const steps = fc.array(step, { minLength: 10, maxLength: 40, size: 'max' })
    const property = fc.asyncProperty(steps, async (history) => {
      const ledger = await newLedger(harness)
      for (const one of history) await run(harness, ledger, one)
      await settle(harness, ledger)
      await expectSound(harness, ledger)
      note(ledger)
    })
    await fc.assert(property, { numRuns: 14, ...whole })
  })

  it('any history makes no money and keeps the limits when its steps come all at once', async () => {
    const steps = fc.array(step, { minLength: 15, maxLength: 30, size: 'max' })
    const property = fc.asyncProperty(steps, steps, async (first, second) => {
      const ledger = await newLedger(harness)
      await Promise.all(first.map((one) => run(harness, ledger, one)))
      await Promise.all(second.map((one) => run(harness, ledger, one)))
      await settle(harness, ledger)
      await expectSound(harness, ledger)
      note(ledger)
    })
    await fc.assert(property, { numRuns: 6, ...whole })
  })

  it('the generated histories had transactions, exchanges and every refusal that counts', () => {
    expect(seen.made).toBeGreaterThan(50)
    expect(seen.exchanged).toBeGreaterThan(20)
    for (const reason of [
      'PARTY_NOT_ALLOWED',
      'QUOTE_MISMATCH',
      'QUOTE_ALREADY_USED',
      'LIMIT_EXCEEDED',
      'INVALID_PARAMETER',
      'DUPLICATE_TRANSACTION_ID',
    ]) {
      expect(seen.refusals).toContain(reason)
    }
  })
})
