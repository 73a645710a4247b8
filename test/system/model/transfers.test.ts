// Random histories of quotes and transactions over the public API, compared with a model of the contract after every step.
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { sharedMesh } from '../harness.ts'
import { newCustomer, transferClient } from '../money/transfer-client.ts'
import { expectSettled, histories, type Model, type Real } from './transfers.ts'

const mesh = sharedMesh()

it('any history of quotes and transactions is what the contract says, step by step', async () => {
  const customers = await Promise.all([newCustomer(mesh, '12.00'), newCustomer(mesh, '3.00')])
  const balances: Model['balances'] = [1_200, 300]
  const seen = { made: 0, exchanged: 0 }
  const property = fc.asyncProperty(histories, async (commands) => {
    const model: Model = { balances, transactions: [], quotes: [] }
    const real: Real = {
      mesh,
      shop: transferClient(mesh),
      stranger: transferClient(mesh, 'other'),
      customers,
    }
    await fc.asyncModelRun(() => ({ model, real }), commands)
    await expectSettled(model, real)
    seen.made += model.transactions.length
    seen.exchanged += model.quotes.filter(({ usedBy }) => usedBy !== null).length
  })
  // A failure shows its history whole, with the seed that repeats it.
  await fc.assert(property, { numRuns: 4, endOnFailure: true })
  expect(seen.made).toBeGreaterThan(10)
  expect(seen.exchanged).toBeGreaterThan(0)
}, 90_000)
