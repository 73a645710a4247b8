// Records the outcome of a transfer as the back end reports it; the first one is kept.
import { Failure } from '#core/errors/errors.ts'
import type { Outcome } from '../domain/transaction.ts'
import { recordOutcome } from '../store/work-store.ts'
import type { Institution } from './institution.ts'

/** Records the outcome; the worker ends the transaction by it. TRANSFER_NOT_FOUND. */
export async function reportTransfer(
  { db, log, notify }: Institution,
  transferId: string,
  { outcome, reason }: { outcome: Outcome; reason: string },
): Promise<void> {
  const recorded = await recordOutcome(db, transferId, { outcome, reason })
  if (recorded === undefined) throw new Failure('TRANSFER_NOT_FOUND', 'there is no such transfer')
  if (recorded.outcome !== outcome) {
    log.error({ kind: outcome, toState: recorded.outcome }, 'back end reported a second outcome')
  }
  notify()
}
