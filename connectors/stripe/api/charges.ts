// Maps payweave.backend.v1's charges to the operations.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { hashToken } from '#core/identity/digest.ts'
import { newKey } from '#core/identity/id.ts'
import type { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { attemptAnswer, chargeHandlers } from '../../kit/api/payments.ts'
import { refuse, rolledUpId } from '../../kit/api/request.ts'
import type { ConnectorContext } from '../../kit/connector.ts'
import { mayReturnTo } from '../../kit/domain/return-url.ts'
import { frameQuery } from '../../kit/http/frame-query.ts'
import { enquireAttempt } from '../../kit/operations/attempts.ts'
import { hastenWork } from '../../kit/store/work-store.ts'
import type { StripeAccount } from '../operations/account.ts'
import { collectKind } from '../operations/collect.ts'
import { insertCardFrame } from '../store/frame-store.ts'

const tokenLength = 43

/**
 * The handlers of ChargeService for cards; Stripe has no wallets with a PIN. They refuse bad fields with INVALID_PARAMETER, and a
 * form for an unknown charge with CHARGE_NOT_FOUND.
 */
export function chargeService(
  { db, notify }: ConnectorContext,
  { publicUrl, checkoutOrigin }: StripeAccount,
): Partial<ServiceImpl<typeof ChargeService>> {
  const { announceCharges, withdrawCharges } = chargeHandlers(db)
  return {
    announceCharges,
    async withdrawCharges(request, context) {
      const answer = await withdrawCharges(request, context)
      // A payer who is at their bank's questions now must not pay any more.
      const ids = request.withdrawals.map(({ chargeId }) => rolledUpId(chargeId))
      const hastened = await Promise.all(ids.map((id) => hastenWork(db, [collectKind], id)))
      if (hastened.includes(true)) notify()
      return answer
    },
    async getAttempt({ attemptId }) {
      return attemptAnswer(await enquireAttempt(db, rolledUpId(attemptId)))
    },
    async openCardFrame({ chargeId, returnUrl, language, theme }) {
      const charge = rolledUpId(chargeId)
      if (!mayReturnTo(returnUrl, checkoutOrigin)) refuse('return_url')
      const token = newKey('', tokenLength)
      if (!(await insertCardFrame(db, hashToken(token), charge, returnUrl)))
        throw new Failure('CHARGE_NOT_FOUND', `no charge ${charge}`)
      return { frameUrl: `${publicUrl}/card/${token}${frameQuery(language, theme)}` }
    },
  }
}
