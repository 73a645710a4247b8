// Maps payweave.backend.v1's charges to the operations.
import type { ServiceImpl } from '@connectrpc/connect'
import { AttemptOutcome, type ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { attemptAnswer, chargeHandlers } from '../../kit/api/payments.ts'
import { rolledUpId } from '../../kit/api/request.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import { enquire, payWithWallet } from '../operations/pay.ts'
import type { Acme } from '../ports/acme.ts'

/** The handlers of ChargeService for wallets; Acme has no cards. They refuse bad fields with INVALID_PARAMETER. */
export function chargeService(
  { db }: ConnectorContext,
  acme: Acme,
): Partial<ServiceImpl<typeof ChargeService>> {
  const context = { db, acme }
  return {
    ...chargeHandlers(db),
    async payWithWallet({ chargeId, attemptId, pin }) {
      const ids = [rolledUpId(chargeId), rolledUpId(attemptId)] as const
      const result = await payWithWallet(context, ...ids, pin)
      if (result.outcome === 'unknown') return { outcome: AttemptOutcome.REFUSED }
      return attemptAnswer(result)
    },
    async getAttempt({ attemptId }) {
      return attemptAnswer(await enquire(context, rolledUpId(attemptId)))
    },
  }
}
