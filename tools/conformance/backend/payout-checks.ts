// Checks of money that is sent out: payouts and refunds.
import { demand } from '../check.ts'
import {
  amountOf,
  type BackendCheck,
  backendGroup,
  demandConflict,
  demandExecuted,
  demandStatus,
  more,
  newReference,
  reported,
  shownAmount,
  type World,
} from './check.ts'
import { chargePaidByCard } from './forms.ts'
import { paidCharge } from './wallet-checks.ts'

const payout = backendGroup('payouts')
const refund = backendGroup('refunds')

export const payoutChecks: readonly BackendCheck[] = [
  payout(
    'completed',
    'A payout is executed once and reported COMPLETED; repeating the call changes nothing.',
    ['payout.completed'],
    (world) => payOut(world, 'payout.completed', 'COMPLETED'),
  ),
  payout(
    'failed',
    'A payout that is rejected permanently is reported FAILED.',
    ['payout.failed'],
    (world) => payOut(world, 'payout.failed', 'FAILED'),
  ),
  payout(
    'malformed',
    'A payout of zero, or in a currency that does not exist, is refused.',
    ['payout.completed'],
    async (world) => {
      const { mobile_number: mobileNumber } = world.outcome('payout.completed')
      const payoutId = newReference(world)
      const amount = amountOf(world)
      for (const wrong of [{ minorUnits: 0n }, { currency: 'ZZZ' }]) {
        const call = { payoutId, mobileNumber, amount: { ...amount, ...wrong } }
        await demandStatus(world.payouts.createPayout(call), 'invalid_argument', 'a bad amount')
      }
      demand(world.reports.of(payoutId).length === 0, 'a refused payout was reported')
    },
  ),
  payout(
    'other-content',
    'A payout whose id comes again with another amount or receiver is refused; the first one is paid out.',
    ['payout.completed'],
    async (world) => {
      const { mobile_number: mobileNumber } = world.outcome('payout.completed')
      const call = { payoutId: newReference(world), amount: amountOf(world), mobileNumber }
      await world.payouts.createPayout(call)
      await demandConflict(world.payouts.createPayout({ ...call, amount: more(call.amount) }))
      const other = mobileNumber.replace(/\d$/, (digit) => (digit === '0' ? '1' : '0'))
      await demandConflict(world.payouts.createPayout({ ...call, mobileNumber: other }))
      await reported(world, call.payoutId, 'COMPLETED')
    },
  ),
  refund(
    'completed',
    'A refund is executed once and reported COMPLETED; repeating the call changes nothing.',
    ['refund.completed'],
    (world) => payBack(world, 'refund.completed', 'COMPLETED'),
  ),
  refund(
    'failed',
    'A refund that is rejected permanently is reported FAILED.',
    ['refund.failed'],
    (world) => payBack(world, 'refund.failed', 'FAILED'),
  ),
  refund(
    'returned',
    "A completed refund that the payer's bank sends back is reported RETURNED.",
    ['refund.returned'],
    async (world) => {
      const chargeId = await chargePaidByCard(world, 'refund.returned')
      const refundId = newReference(world)
      await world.payouts.createRefund({ refundId, chargeId, amount: amountOf(world) })
      await reported(world, refundId, 'COMPLETED')
      await reported(world, refundId, 'RETURNED')
    },
  ),
  refund(
    'other-content',
    'A refund whose id comes again with another amount or charge is refused; the first one is paid back.',
    ['refund.completed'],
    async (world) => {
      const { currency } = world.map
      const minorUnits = BigInt(world.outcome('refund.completed').minor_units)
      const amount = { currency, minorUnits }
      const call = { refundId: newReference(world), chargeId: await paidCharge(world), amount }
      await world.payouts.createRefund(call)
      await demandConflict(world.payouts.createRefund({ ...call, amount: more(amount) }))
      const chargeId = await paidCharge(world)
      await demandConflict(world.payouts.createRefund({ ...call, chargeId }))
      await reported(world, call.refundId, 'COMPLETED')
    },
  ),
]

async function payOut(
  world: World,
  outcome: 'payout.completed' | 'payout.failed',
  reportedAs: 'COMPLETED' | 'FAILED',
): Promise<void> {
  const { mobile_number: mobileNumber } = world.outcome(outcome)
  const call = { payoutId: newReference(world), amount: amountOf(world), mobileNumber }
  await Promise.all([world.payouts.createPayout(call), world.payouts.createPayout(call)])
  await reported(world, call.payoutId, reportedAs)
  await world.payouts.createPayout(call)
  await reported(world, call.payoutId, reportedAs)
  const times = reportedAs === 'COMPLETED' ? 1 : 0
  await demandExecuted(world, 'payout', call.payoutId, times, shownAmount(world))
}

async function payBack(
  world: World,
  outcome: 'refund.completed' | 'refund.failed',
  reportedAs: 'COMPLETED' | 'FAILED',
): Promise<void> {
  const minorUnits = BigInt(world.outcome(outcome).minor_units)
  const chargeId = await paidCharge(world)
  const amount = { currency: world.map.currency, minorUnits }
  const call = { refundId: newReference(world), chargeId, amount }
  await Promise.all([world.payouts.createRefund(call), world.payouts.createRefund(call)])
  await reported(world, call.refundId, reportedAs)
  await world.payouts.createRefund(call)
  await reported(world, call.refundId, reportedAs)
  const times = reportedAs === 'COMPLETED' ? 1 : 0
  await demandExecuted(world, 'refund', call.refundId, times, shownAmount(world, minorUnits))
}
