// Maps payweave.backend.v1's charges and payouts to the domain.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { hashToken } from '#core/identity/digest.ts'
import { newKey } from '#core/identity/id.ts'
import {
  AttemptOutcome,
  type Charge,
  ChargeChannel,
  type ChargeService,
  WithdrawReason,
} from '#gen/payweave/backend/v1/charges_pb.js'
import type { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { batched } from '#platform/db/batcher.ts'
import { isRefused } from '#platform/db/db.ts'
import { readMoney, refuse, rolledUpId } from '../../kit/api/request.ts'
import { mayReturnTo } from '../../kit/domain/return-url.ts'
import { frameQuery } from '../../kit/http/frame-query.ts'
import {
  type Channel,
  type NewCharge,
  type WithdrawReason as Reason,
  refusalNumber,
} from '../domain/charge.ts'
import { behaviourOf } from '../domain/people.ts'
import { enquire, type Outcome, type PayContext, payWithWallet } from '../operations/pay.ts'
import { insertCardFrame, insertCharges, withdrawCharges } from '../store/charge-store.ts'
import { insertPayouts, insertRefund, type NewPayout } from '../store/report-store.ts'

const tokenLength = 43

const channels: Partial<Record<ChargeChannel, Channel>> = {
  [ChargeChannel.AGENT]: 'agent',
  [ChargeChannel.DIRECT_POS]: 'direct_pos',
  [ChargeChannel.PAYMENT_LINK]: 'payment_link',
}
const reasons: Partial<Record<WithdrawReason, Reason>> = {
  [WithdrawReason.CANCELLED]: 'cancelled',
  [WithdrawReason.EXPIRED]: 'expired',
  [WithdrawReason.FAILED]: 'failed',
}
const wireOutcomes: Record<Outcome['outcome'], AttemptOutcome> = {
  paid: AttemptOutcome.PAID,
  refused: AttemptOutcome.REFUSED,
  unknown: AttemptOutcome.UNSPECIFIED,
}
/** What the handlers need of the process. */
export type ServiceContext = PayContext & {
  /** Called when charges were announced of which a payer acts in so many milliseconds, or later. */
  chargesAnnounced: (firstActInMs: number) => void
  /** Called when charges were withdrawn, since a payer may have a planned act. */
  chargesWithdrawn: () => void
  /** Where browsers reach this process, without a slash at the end. */
  publicUrl: string
  /** Origin of the pages that show our card form. */
  checkoutOrigin: string
}

/**
 * The handlers of payweave.backend.v1.ChargeService. They refuse bad fields with INVALID_PARAMETER, an unknown charge with
 * CHARGE_NOT_FOUND, and an attempt of another charge with REFERENCE_CONFLICT.
 */
export function chargeService(context: ServiceContext): ServiceImpl<typeof ChargeService> {
  const { db, chargesAnnounced, chargesWithdrawn, publicUrl, checkoutOrigin } = context
  return {
    async announceCharges({ charges }) {
      const read = charges.map(readCharge)
      const distinct = [...new Map(read.map((charge) => [charge.chargeId, charge])).values()]
      const announced = distinct.map((charge) => ({
        ...charge,
        behaviour: behaviourOf(charge.mobileNumber),
      }))
      await insertCharges(db, announced)
      // Every payer acts first after the time between their acts.
      const actsInMs = announced.flatMap(({ behaviour }) => behaviour?.everyMs ?? [])
      if (actsInMs.length > 0) chargesAnnounced(Math.min(...actsInMs))
      return {}
    },
    async withdrawCharges({ withdrawals }) {
      const read = withdrawals.map(({ chargeId, reason }) => ({
        chargeId: rolledUpId(chargeId),
        reason: reasons[reason] ?? refuse('reason'),
      }))
      // Each charge once; the first withdrawal in the list counts, as it would in calls of their own.
      const distinct = new Map(read.toReversed().map((entry) => [entry.chargeId, entry]))
      await withdrawCharges(db, [...distinct.values()])
      chargesWithdrawn()
      return {}
    },
    async payWithWallet({ chargeId, attemptId, pin }) {
      const charge = rolledUpId(chargeId)
      const attempt = rolledUpId(attemptId)
      const made = await payWithWallet(context, charge, attempt, pin)
      // An attempt that an enquiry has called unknown is refused now, and later enquiries still call it unknown.
      return made.outcome === 'unknown' ? { outcome: AttemptOutcome.REFUSED } : attemptMessage(made)
    },
    async getAttempt({ attemptId }) {
      return attemptMessage(await enquire(db, rolledUpId(attemptId)))
    },
    async openCardFrame({ chargeId, returnUrl, language, theme }) {
      const charge = rolledUpId(chargeId)
      if (!mayReturnTo(returnUrl, checkoutOrigin)) refuse('return_url')
      const token = newKey('', tokenLength)
      if (!(await insertCardFrame(db, hashToken(token), charge, returnUrl))) {
        throw new Failure('CHARGE_NOT_FOUND', `no charge ${charge}`)
      }
      return { frameUrl: `${publicUrl}/card/${token}${frameQuery(language, theme)}` }
    },
  }
}

function attemptMessage(made: Outcome) {
  const refusal = made.outcome === 'refused' ? made.refusal : undefined
  return { outcome: wireOutcomes[made.outcome], refusalReason: refusalNumber(refusal) }
}

/**
 * The handlers of payweave.backend.v1.PayoutService: every payout succeeds at once. They refuse a bad amount with
 * INVALID_PARAMETER, and an id that was used with other content with REFERENCE_CONFLICT.
 */
export function payoutService({
  db,
  reportsWritten,
}: PayContext): ServiceImpl<typeof PayoutService> {
  const isStored = batched<NewPayout, boolean>({
    maxInFlight: 2,
    maxBatchSize: 100,
    alone: async (payout) => (await insertPayouts(db, [payout])).size === 0,
    async together(payouts) {
      const other = await insertPayouts(db, payouts)
      return payouts.map(({ payoutId }) => !other.has(payoutId))
    },
    isOfOne: isRefused,
  })
  return {
    async createPayout({ payoutId, amount, mobileNumber }) {
      const payout = { payoutId: rolledUpId(payoutId), ...readMoney(amount), mobileNumber }
      if (!(await isStored(payout))) refuseOther(payoutId)
      reportsWritten()
      return {}
    },
    async createRefund({ refundId, chargeId, amount }) {
      const refund = {
        refundId: rolledUpId(refundId),
        chargeId: rolledUpId(chargeId),
        ...readMoney(amount),
      }
      if (!(await insertRefund(db, refund))) refuseOther(refundId)
      reportsWritten()
      return {}
    },
  }
}

function refuseOther(id: string): never {
  throw new Failure('REFERENCE_CONFLICT', `${id} was used with other content`)
}

function readCharge(charge: Charge): NewCharge {
  const { chargeId, mobileNumber, channel, businessName, cashCode, expireTime } = charge
  if (expireTime === undefined) refuse('expire_time')
  return {
    chargeId: rolledUpId(chargeId),
    ...readMoney(charge.amount),
    mobileNumber,
    channel: channels[channel] ?? refuse('channel'),
    businessName,
    cashCode,
    expireTime: timestampDate(expireTime),
  }
}
