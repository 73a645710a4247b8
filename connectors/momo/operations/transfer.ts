// Sends a payout or refund by a transfer, and ends it as MTN says.
import type { ConnectorContext } from '../../kit/connector.ts'
import type { Work } from '../../kit/domain/work.ts'
import { endCredit } from '../../kit/operations/credits.ts'
import { findCredit } from '../../kit/store/payment-store.ts'
import { holdWork } from '../../kit/store/work-store.ts'
import { NotYet } from '../../kit/workers/worker.ts'
import { isOfOwnAccount } from '../domain/reasons.ts'
import { pauseMs } from '../domain/request.ts'
import { renewRequest } from '../store/request-store.ts'
import type { MomoAccount } from './account.ts'
import { advance } from './advance.ts'

/** Kind of the work that transfers; its subject is the payout or refund. */
export const transferKind = 'momo.transfer'

const names = { payout: 'Payout', refund: 'Refund' } as const

/**
 * Moves a payout or refund on until it has ended. One in a currency that the account does not have fails; one that our account
 * cannot pay now is asked for again.
 */
export async function transfer(
  work: Work,
  { db, log, notify }: ConnectorContext,
  { momo, currency }: MomoAccount,
): Promise<void> {
  const { subject: reference } = work
  const credit = await findCredit(db, reference)
  if (credit?.state !== 'pending') return
  const isCurrency = credit.currency === currency
  const { failure } = isCurrency
    ? await advance({ db, momo, work }, 'disbursement', {
        ...credit,
        externalId: reference,
        name: names[credit.kind],
        isWanted: true,
      })
    : { failure: 'INVALID_CURRENCY' }
  if (failure !== undefined && isOfOwnAccount('disbursement', failure)) {
    // That transfer has ended, and its reference is used up.
    await db.transaction(async (tx) => {
      await holdWork(tx, work)
      await renewRequest(tx, reference)
    })
    log.warn({ kind: transferKind, reason: failure }, 'transfer waits for our account at MTN')
    throw new NotYet(pauseMs(credit))
  }
  // Payweave's report has no reason: this is where an operator finds it.
  if (failure !== undefined)
    log.warn({ kind: transferKind, reason: failure }, 'transfer failed at MTN')
  await endCredit(db, reference, failure === undefined ? 'completed' : 'failed', work)
  notify()
}
