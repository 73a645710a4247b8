// Takes in what the back end says became of a transfer; the first outcome stands. It must not move money.
import { Failure } from '#core/errors.ts'
import type { Institution } from './institution.ts'
import type { Outcome } from './transaction.ts'
import { noteOutcome } from './work-store.ts'

const longestReason = 1_000

/** Notes the outcome; the worker ends the transaction by it. TRANSFER_NOT_FOUND. */
export async function reportTransfer(
  { db, log, kick }: Institution,
  transferId: string,
  { outcome, reason }: { outcome: Outcome; reason: string },
): Promise<void> {
  const report = { outcome, reason: reason.slice(0, longestReason) }
  const noted = await noteOutcome(db, transferId, report)
  if (noted === undefined) throw new Failure('TRANSFER_NOT_FOUND', 'there is no such transfer')
  if (noted.outcome !== outcome) {
    log.error({ kind: outcome, toState: noted.outcome }, 'a back end took an outcome back')
  }
  kick()
}
