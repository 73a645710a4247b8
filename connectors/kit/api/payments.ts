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

/**
 * The handlers of payouts and refunds: a refund goes to the number that paid. CHARGE_NOT_FOUND for one of a charge that is
 * unknown or not paid, REFERENCE_CONFLICT for an id that was used with other content. Work of this kind sends the money.
 */
export function payoutHandlers(
  { db, notify }: { db: Database; notify: () => void },
  workKind: string,
): ServiceImpl<typeof PayoutService> {
  return {
    async createPayout({ payoutId, amount, mobileNumber }) {
      const reference = rolledUpId(payoutId)
      const credit = { reference, kind: 'payout', mobileNumber, ...readMoney(amount) } as const
      await acceptCredit(db, credit, workKind)
      notify()
      return {}
    },
    async createRefund({ refundId, chargeId, amount }) {
      const charge = await findCharge(db, rolledUpId(chargeId))
      if (charge?.state !== 'paid')
        throw new Failure('CHARGE_NOT_FOUND', `no paid charge ${chargeId}`)
      const { mobileNumber } = charge
      const reference = rolledUpId(refundId)
      const credit = { reference, kind: 'refund', mobileNumber, ...readMoney(amount) } as const
      await acceptCredit(db, credit, workKind)
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
