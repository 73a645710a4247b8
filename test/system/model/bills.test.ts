// Random histories of bill payments over the public API, compared with a model of the contract after every step.
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { merchant, sharedMesh } from '../harness.ts'
import { expectSettled, histories, type Model, type Real } from './bills.ts'

const mesh = sharedMesh()

it('any history of bill payments is what the contract says, step by step', async () => {
  const seen = { paid: 0, failed: 0 }
  const property = fc.asyncProperty(histories, async (commands) => {
    const model: Model = { bills: [] }
    const real: Real = { mesh, shop: merchant(mesh), poor: merchant(mesh, 'other') }
    await fc.asyncModelRun(() => ({ model, real }), commands)
    await expectSettled(model, real)
    for (const { answer } of model.bills) {
      if (answer['normalized_status'] === 'SUCCESS') seen.paid += 1
      else seen.failed += 1
    }
  })
  // A failure shows its history whole, with the seed that repeats it.
  await fc.assert(property, { numRuns: 8, endOnFailure: true })
  expect(seen.paid).toBeGreaterThan(20)
  expect(seen.failed).toBeGreaterThan(3)
}, 90_000)
