// Random histories of a shop and its payers over the public API, compared with a model of the contract after every step.
import * as fc from 'fast-check'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { merchant, receiver, sharedMesh, strangersNumber } from '../harness.ts'
import { expectSettled, histories, type Model, playEnds, type Real } from './payments.ts'

const mesh = sharedMesh()
const client = new Client({ connectionString: mesh.databaseUrl() })
beforeAll(() => client.connect())
afterAll(() => client.end())

/** As if the time of the payment had run out: nothing but its own times is changed. */
async function passDeadline(paymentId: string): Promise<void> {
  await client.query(
    `with gone as (
       update payments.payer set expire_time = clock_timestamp() where payment_id = $1)
     update payments.payment set expire_time = clock_timestamp(),
       expiry_check_time = case when expiry_check_time is not null then clock_timestamp() end
     where payment_id = $1`,
    [paymentId],
  )
}

/** A shop with a receiver of its own. */
function newShop(): Real {
  return {
    shop: merchant(mesh),
    stranger: merchant(mesh, 'other'),
    inbox: receiver(mesh),
    mobileNumber: strangersNumber(),
    passDeadline,
  }
}

const seen = { states: new Set<string>(), commands: 0 }

it('any history of payments is what the contract says, step by step', async () => {
  const [model, real] = [{ payments: [] }, newShop()]
  await playEnds(model, real)
  await expectSettled(model, real)
  const property = fc.asyncProperty(histories, async (commands) => {
    const model: Model = { payments: [] }
    const real = newShop()
    await fc.asyncModelRun(() => ({ model, real }), commands)
    await expectSettled(model, real)
    seen.commands += commands.length
    for (const { state } of model.payments) seen.states.add(state)
  })
  // A failure shows its history whole, with the seed that repeats it: to shrink it would take minutes.
  await fc.assert(property, { numRuns: 8, endOnFailure: true })
  expect(seen.commands).toBeGreaterThan(70)
  expect(seen.states.size).toBeGreaterThan(3)
}, 90_000)
