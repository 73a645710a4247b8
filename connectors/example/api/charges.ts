// Maps payweave.backend.v1's charges and payouts to the operations.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { AttemptOutcome, type ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import type { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { readMoney, rolledUpId } from '../../kit/api/request.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import { acceptCredit } from '../operations/credit.ts'
import { enquire, payWithWallet } from '../operations/pay.ts'
import type { Acme } from '../ports/acme.ts'
import { insertCharges, lockCharge, withdrawCharges } from '../store/payment-store.ts'

const outcomes = {
  processing: AttemptOutcome.PROCESSING,
  paid: AttemptOutcome.PAID,
  refused: AttemptOutcome.REFUSED,
  unknown: AttemptOutcome.UNSPECIFIED,
} as const

/** The handlers of ChargeService for wallets; Acme has no cards. They refuse bad fields with INVALID_PARAMETER. */
export function chargeService(
  { db }: ConnectorContext,
  acme: Acme,
): Partial<ServiceImpl<typeof ChargeService>> {
  const context = { db, acme }
  return {
    async announceCharges({ charges }) {
      const read = charges.map(({ chargeId, amount, mobileNumber }) => ({
        chargeId: rolledUpId(chargeId),
        mobileNumber,
        ...readMoney(amount),
      }))
      await insertCharges(db, read)
      return {}
    },
    async withdrawCharges({ withdrawals }) {
      await withdrawCharges(
        db,
        withdrawals.map(({ chargeId }) => rolledUpId(chargeId)),
      )
      return {}
    },
    async payWithWallet({ chargeId, attemptId, pin }) {
      const ids = [rolledUpId(chargeId), rolledUpId(attemptId)] as const
      const outcome = await payWithWallet(context, ...ids, pin)
      return { outcome: outcome === 'unknown' ? AttemptOutcome.REFUSED : outcomes[outcome] }
    },
    async getAttempt({ attemptId }) {
      return { outcome: outcomes[await enquire(context, rolledUpId(attemptId))] }
    },
  }
}

/** The handlers of PayoutService: a refund goes to the number that paid. CHARGE_NOT_FOUND for one of an unknown charge. */
export function payoutService({ db, notify }: ConnectorContext): ServiceImpl<typeof PayoutService> {
  return {
    async createPayout({ payoutId, amount, mobileNumber }) {
      const reference = rolledUpId(payoutId)
      await acceptCredit(db, { reference, kind: 'payout', mobileNumber, ...readMoney(amount) })
      notify()
      return {}
    },
    async createRefund({ refundId, chargeId, amount }) {
      const charge = await db.transaction((tx) => lockCharge(tx, rolledUpId(chargeId)))
      if (charge === undefined) throw new Failure('CHARGE_NOT_FOUND', `no charge ${chargeId}`)
      const { mobileNumber } = charge
      const reference = rolledUpId(refundId)
      await acceptCredit(db, { reference, kind: 'refund', mobileNumber, ...readMoney(amount) })
      notify()
      return {}
    },
  }
}
