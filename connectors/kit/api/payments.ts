// Handlers of payweave.backend.v1 that are the same on every rail: charges are stored, payouts and refunds accepted.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { numberOf, refusalReasons } from '#core/payment/words.ts'
import { AttemptOutcome, type ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import type { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import type { Database } from '#platform/db/db.ts'
import type { AttemptResult } from '../domain/payment.ts'
import { acceptCredit } from '../operations/credits.ts'
import { findCharge, insertCharges, withdrawCharges } from '../store/payment-store.ts'
import { readMoney, refuse, rolledUpId } from './request.ts'

const outcomes = {
  processing: AttemptOutcome.PROCESSING,
  paid: AttemptOutcome.PAID,
  refused: AttemptOutcome.REFUSED,
  unknown: AttemptOutcome.UNSPECIFIED,
} as const

/** The handlers of announcements and withdrawals. They refuse bad fields with INVALID_PARAMETER. */
export function chargeHandlers(
  db: Database,
): Pick<ServiceImpl<typeof ChargeService>, 'announceCharges' | 'withdrawCharges'> {
  return {
    async announceCharges({ charges }) {
      const read = charges.map(({ chargeId, amount, mobileNumber, businessName, expireTime }) => ({
        chargeId: rolledUpId(chargeId),
        mobileNumber,
        businessName,
        expireTime: timestampDate(expireTime ?? refuse('expire_time')),
        ...readMoney(amount),
      }))
      await insertCharges(db, read)
      return {}
    },
    async withdrawCharges({ withdrawals }) {
      const ids = withdrawals.map(({ chargeId }) => rolledUpId(chargeId))
      await withdrawCharges(db, ids)
      return {}
    },
  }
}

type CreditContext = { db: Database; notify: () => void }

/**
 * The handlers of payouts and refunds: a refund goes to the number that paid. They refuse as `refundHandlers` do. Work of this
 * kind sends the money.
 */
export function payoutHandlers(
  context: CreditContext,
  workKind: string,
): ServiceImpl<typeof PayoutService> {
  const { db, notify } = context
  return {
    ...refundHandlers(context, workKind),
    async createPayout({ payoutId, amount, mobileNumber }) {
      const to = { chargeId: null, mobileNumber, ...readMoney(amount) }
      await acceptCredit(db, { reference: rolledUpId(payoutId), kind: 'payout', ...to }, workKind)
      notify()
      return {}
    },
  }
}

/**
 * The handler of refunds alone, for a rail without payouts: CreatePayout is UNIMPLEMENTED. CHARGE_NOT_FOUND for a refund of a
 * charge that is unknown or not paid, REFERENCE_CONFLICT for an id that was used with other content. Work of this kind refunds.
 */
export function refundHandlers(
  { db, notify }: CreditContext,
  workKind: string,
): Pick<ServiceImpl<typeof PayoutService>, 'createRefund'> {
  return {
    async createRefund({ refundId, chargeId: id, amount }) {
      const chargeId = rolledUpId(id)
      const charge = await findCharge(db, chargeId)
      if (charge?.state !== 'paid')
        throw new Failure('CHARGE_NOT_FOUND', `no paid charge ${chargeId}`)
      const to = { chargeId, mobileNumber: charge.mobileNumber, ...readMoney(amount) }
      await acceptCredit(db, { reference: rolledUpId(refundId), kind: 'refund', ...to }, workKind)
      notify()
      return {}
    },
  }
}

/** What is answered about an attempt. PayWithWallet answers REFUSED where an enquiry answers unknown. */
export function attemptAnswer({ outcome, refusal }: AttemptResult) {
  const refusalReason = refusal === null ? 0 : numberOf(refusalReasons, refusal)
  return { outcome: outcomes[outcome], refusalReason }
}
