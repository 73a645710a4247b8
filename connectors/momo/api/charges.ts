// Maps payweave.backend.v1's charges to the operations.
import type { ServiceImpl } from '@connectrpc/connect'
import { AttemptOutcome, type ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { attemptAnswer, chargeHandlers } from '../../kit/api/payments.ts'
import { rolledUpId } from '../../kit/api/request.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import { enquireAttempt, startAttempt } from '../../kit/operations/attempts.ts'
import { collectKind } from '../operations/collect.ts'

/**
 * The handlers of ChargeService for wallets; MTN has no cards. The payer approves on their phone: the PIN of PayWithWallet
 * is neither read nor sent to anybody. They refuse bad fields with INVALID_PARAMETER.
 */
export function chargeService({
  db,
  notify,
}: ConnectorContext): Partial<ServiceImpl<typeof ChargeService>> {
  return {
    ...chargeHandlers(db),
    async payWithWallet(request) {
      const chargeId = rolledUpId(request.chargeId)
      const attemptId = rolledUpId(request.attemptId)
      const payload = Buffer.alloc(0)
      const work = { kind: collectKind, key: attemptId, subject: attemptId, payload }
      const started = await startAttempt(db, chargeId, attemptId, work)
      if (started.outcome === 'unknown') return { outcome: AttemptOutcome.REFUSED }
      notify()
      return attemptAnswer(started)
    },
    async getAttempt({ attemptId }) {
      return attemptAnswer(await enquireAttempt(db, rolledUpId(attemptId)))
    },
  }
}
