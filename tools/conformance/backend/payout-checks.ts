// Checks of money that is sent out: payouts and refunds.
import { demand } from '../check.ts'
import {
  amountOf,
  type BackendCheck,
  backendGroup,
  type CheckContext,
  demandConflict,
  demandExecuted,
  demandStatus,
  more,
  newReference,
  reported,
  shownAmount,
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
    (context) => payOut(context, 'payout.completed', 'COMPLETED'),
  ),
  payout(
    'failed',
    'A payout that is rejected permanently is reported FAILED.',
    ['payout.failed'],
    (context) => payOut(context, 'payout.failed', 'FAILED'),
  ),
  payout(
    'malformed',
    'A payout of zero, or in a currency that does not exist, is refused.',
    ['payout.completed'],
    async (context) => {
      const { mobile_number: mobileNumber } = context.outcome('payout.completed')
      const payoutId = newReference(context)
      const amount = amountOf(context)
      for (const wrong of [{ minorUnits: 0n }, { currency: 'ZZZ' }]) {
        const call = { payoutId, mobileNumber, amount: { ...amount, ...wrong } }
        await demandStatus(context.payouts.createPayout(call), 'invalid_argument', 'a bad amount')
      }
      demand(context.reports.of(payoutId).length === 0, 'a refused payout was reported')
    },
  ),
  payout(
    'other-content',
    'A payout whose id comes again with another amount or receiver is refused; the first one is paid out.',
    ['payout.completed'],
    async (context) => {
      const { mobile_number: mobileNumber } = context.outcome('payout.completed')
      const call = { payoutId: newReference(context), amount: amountOf(context), mobileNumber }
      await context.payouts.createPayout(call)
      await demandConflict(context.payouts.createPayout({ ...call, amount: more(call.amount) }))
      const other = mobileNumber.replace(/\d$/, (digit) => (digit === '0' ? '1' : '0'))
      await demandConflict(context.payouts.createPayout({ ...call, mobileNumber: other }))
      await reported(context, call.payoutId, 'COMPLETED')
    },
  ),
  refund(
    'completed',
    'A refund is executed once and reported COMPLETED; repeating the call changes nothing.',
    ['refund.completed'],
    (context) => payBack(context, 'refund.completed', 'COMPLETED'),
  ),
  refund(
    'failed',
    'A refund that is rejected permanently is reported FAILED.',
    ['refund.failed'],
    (context) => payBack(context, 'refund.failed', 'FAILED'),
  ),
  refund(
    'returned',
    "A completed refund that the payer's bank sends back is reported RETURNED.",
    ['refund.returned'],
    async (context) => {
      const chargeId = await chargePaidByCard(context, 'refund.returned')
      const refundId = newReference(context)
      await context.payouts.createRefund({ refundId, chargeId, amount: amountOf(context) })
      await reported(context, refundId, 'COMPLETED')
      await reported(context, refundId, 'RETURNED')
    },
  ),
  refund(
    'other-content',
    'A refund whose id comes again with another amount or charge is refused; the first one is paid back.',
    ['refund.completed'],
    async (context) => {
      const { currency } = context.map
      const minorUnits = BigInt(context.outcome('refund.completed').minor_units)
      const amount = { currency, minorUnits }
      const call = { refundId: newReference(context), chargeId: await paidCharge(context), amount }
      await context.payouts.createRefund(call)
      await demandConflict(context.payouts.createRefund({ ...call, amount: more(amount) }))
      const chargeId = await paidCharge(context)
      await demandConflict(context.payouts.createRefund({ ...call, chargeId }))
      await reported(context, call.refundId, 'COMPLETED')
    },
  ),
]

async function payOut(
  context: CheckContext,
  outcome: 'payout.completed' | 'payout.failed',
  reportedAs: 'COMPLETED' | 'FAILED',
): Promise<void> {
  const { mobile_number: mobileNumber } = context.outcome(outcome)
  const call = { payoutId: newReference(context), amount: amountOf(context), mobileNumber }
  await Promise.all([context.payouts.createPayout(call), context.payouts.createPayout(call)])
  await reported(context, call.payoutId, reportedAs)
  await context.payouts.createPayout(call)
  await reported(context, call.payoutId, reportedAs)
  const times = reportedAs === 'COMPLETED' ? 1 : 0
  await demandExecuted(context, 'payout', call.payoutId, times, shownAmount(context))
}

async function payBack(
  context: CheckContext,
  outcome: 'refund.completed' | 'refund.failed',
  reportedAs: 'COMPLETED' | 'FAILED',
): Promise<void> {
  const minorUnits = BigInt(context.outcome(outcome).minor_units)
  const chargeId = await paidCharge(context)
  const amount = { currency: context.map.currency, minorUnits }
  const call = { refundId: newReference(context), chargeId, amount }
  await Promise.all([context.payouts.createRefund(call), context.payouts.createRefund(call)])
  await reported(context, call.refundId, reportedAs)
  await context.payouts.createRefund(call)
  await reported(context, call.refundId, reportedAs)
  const times = reportedAs === 'COMPLETED' ? 1 : 0
  await demandExecuted(context, 'refund', call.refundId, times, shownAmount(context, minorUnits))
}
