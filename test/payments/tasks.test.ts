// What the back end is told although a part of it refuses or hangs.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChargeOutcome } from '#gen/payments/v1/charge_report_pb.js'
import { at, payer, startWorld, until, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

it('a charge that the back end refuses does not keep the others of its call from being announced', async () => {
  const { state, told } = world.backend
  const refused = '+12025550177'
  state.refuses = ({ mobileNumber }) => mobileNumber === refused
  const payers = [payer(5_000n, { mobileNumberE164: refused }), payer(5_000n)]
  const made = await world.create({ payers })
  await until(() => told.charges.has(at(made.payers, 1).payerId))
  expect(told.charges.has(at(made.payers).payerId)).toBe(false)
  state.refuses = () => false
  world.testClock.advance(60_000)
  await until(() => told.charges.has(at(made.payers).payerId))
})

it('charges are announced while payouts hang', async () => {
  const { state, told } = world.backend
  const hanging = Promise.withResolvers<void>()
  state.paysOutAfter = hanging.promise
  const paid = await world.create()
  await world.report(at(paid.payers).payerId, ChargeOutcome.PAID)
  const payeeId = at((await world.get(paid.paymentId)).payees).payeeId
  await until(() => told.payoutCalls > 0)
  const fresh = await world.create()
  await until(() => told.charges.has(at(fresh.payers).payerId))
  expect(told.payouts.has(payeeId)).toBe(false)
  hanging.resolve()
  await until(() => told.payouts.has(payeeId))
})
