// Records the outcome of a transfer as the back end reports it; the first one is kept.
import { Failure } from '#core/errors/errors.ts'
import type { Outcome } from '../domain/transaction.ts'
import { noteOutcome } from '../store/work-store.ts'
import type { Institution } from './institution.ts'

/** Notes the outcome; the worker ends the transaction by it. TRANSFER_NOT_FOUND. */
export async function reportTransfer(
  { db, log, notify }: Institution,
  transferId: string,
  { outcome, reason }: { outcome: Outcome; reason: string },
): Promise<void> {
  const noted = await noteOutcome(db, transferId, { outcome, reason })
  if (noted === undefined) throw new Failure('TRANSFER_NOT_FOUND', 'there is no such transfer')
  if (noted.outcome !== outcome) {
    log.error({ kind: outcome, toState: noted.outcome }, 'back end reported a second outcome')
  }
  notify()
}
