// Posts settlements to the ledger, once each, whether from an event or from the backfill.
import { Failure, type Reason } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import type { Settlement } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import type { TransferDraft } from '../store/posting-store.ts'
import { type Posted, postDraft, postDrafts, transferDraft } from './ledger.ts'
import { transferOf } from './settlement-transfer.ts'

/** A settlement that can never be posted, so a retry does not help. */
export class UnpostableSettlement extends Error {
  override readonly name = 'UnpostableSettlement'
  readonly settlementId: string

  constructor(settlementId: string, cause: Error) {
    const reason = cause instanceof Failure ? `${cause.reason}: ` : ''
    super(`settlement ${settlementId}: ${reason}${cause.message}`, { cause })
    this.settlementId = settlementId
  }
}

// The statement compares each line with each transfer.
const maxTogether = 128

/**
 * Posts settlements in this transaction, many in a statement; returns how many the ledger did not have. An UnpostableSettlement leaves a
 * transaction that must roll back.
 */
export async function postSettlements(tx: Queryable, settlements: Settlement[]): Promise<number> {
  // Sorted by id over all statements, so that two processes do not deadlock.
  const drafts = settlements
    .map(settlementDraft)
    .toSorted((one, other) => (one.transferId < other.transferId ? -1 : 1))
  let count = 0
  for (let from = 0; from < drafts.length; from += maxTogether) {
    const some = drafts.slice(from, from + maxTogether)
    const posted = await postDrafts(tx, some)
    const outcomes = some.map(async (draft, index) => posted[index] ?? postOne(tx, draft))
    count += (await Promise.all(outcomes)).filter(({ repeated }) => !repeated).length
  }
  return count
}

function settlementDraft(settlement: Settlement): TransferDraft {
  const { settlementId, projectId } = settlement
  try {
    if (!isUuid(settlementId) || !isUuid(projectId)) throw new RangeError('ids must be UUIDs')
    return transferDraft(transferOf(settlement))
  } catch (error) {
    throw unpostable(settlementId, error)
  }
}

async function postOne(tx: Queryable, draft: TransferDraft): Promise<Posted> {
  try {
    return await postDraft(tx, draft)
  } catch (error) {
    throw unpostable(draft.transferId, error)
  }
}

function unpostable(settlementId: string, error: unknown): unknown {
  return isForGood(error) ? new UnpostableSettlement(settlementId, error) : error
}

/** Permanent refusals: a retry gives the same one. */
const lastingReasons = new Set<Reason>([
  'LEDGER_CONFLICT',
  'LEDGER_ACCOUNT_NOT_FOUND',
  'INVALID_PARAMETER',
  'AMOUNT_OUT_OF_RANGE',
])

function isForGood(error: unknown): error is Error {
  if (error instanceof Failure) return lastingReasons.has(error.reason)
  return error instanceof RangeError
}
