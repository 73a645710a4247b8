// Posts settlements to the ledger, once each, whether from an event or from the backfill.
import { Failure, type Reason } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import type { Settlement } from '#gen/payments/v1/settlement_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { postTransfer } from './ledger.ts'
import { transferOf } from './settlement-transfer.ts'

/** A settlement that no repetition can post. */
export class UnpostableSettlement extends Error {
  override readonly name = 'UnpostableSettlement'
  readonly settlementId: string

  constructor(settlementId: string, cause: Error) {
    super(`settlement ${settlementId}: ${cause.message}`, { cause })
    this.settlementId = settlementId
  }
}

/**
 * Posts settlements in this transaction; returns how many the ledger did not have. An UnpostableSettlement leaves a
 * transaction that must roll back. In the order of their ids, so that two transactions with the same ones wait for,
 * and never deadlock, each other.
 */
export async function postSettlements(tx: Queryable, settlements: Settlement[]): Promise<number> {
  const ordered = settlements.toSorted((a, b) => (a.settlementId < b.settlementId ? -1 : 1))
  const posted = await Promise.all(ordered.map((settlement) => postOne(tx, settlement)))
  return posted.filter(({ repeated }) => !repeated).length
}

async function postOne(tx: Queryable, settlement: Settlement): Promise<{ repeated: boolean }> {
  const { settlementId, projectId } = settlement
  try {
    if (!isUuid(settlementId) || !isUuid(projectId)) throw new RangeError('ids must be UUIDs')
    return await postTransfer(tx, transferOf(settlement))
  } catch (error) {
    throw isForGood(error) ? new UnpostableSettlement(settlementId, error) : error
  }
}

/** Refusals that stay what they are however often one asks. */
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
