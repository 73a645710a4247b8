// Batches the transfers and holds that arrive together: one statement and one change of each balance for many.
import { batched, leftOut } from '#platform/db/batcher.ts'
import { type Database, isLockTimeout, isOfOneItem, type Queryable } from '#platform/db/db.ts'
import type { LockWait } from '../store/posting-store.ts'
import {
  type HoldLines,
  holdDraft,
  holdPosting,
  type NewHold,
  type PlacedHold,
  type PostedHold,
  placeHold,
  placeHolds,
  postPosting,
  postPostings,
} from './hold.ts'
import { type NewTransfer, type Posted, postDraft, postDrafts, transferDraft } from './ledger.ts'

/** Writes to the ledger. What each answers and throws is that of the function of the same name for one. */
export type LedgerWriter = {
  postTransfer(transfer: NewTransfer): Promise<Posted>
  createHold(hold: NewHold): Promise<PlacedHold>
  postHold(hold: HoldLines): Promise<PostedHold>
}

/** Makes what writes together; one that is refused is refused alone. */
export function batchingLedger(db: Database): LedgerWriter {
  return {
    postTransfer: batching(db, transferDraft, postDraft, postDrafts),
    createHold: batching(db, holdDraft, placeHold, placeHolds),
    postHold: batching(db, holdPosting, postPosting, postPostings),
  }
}

// A batch holds the rows of its accounts until it is committed; another one is prepared meanwhile.
const limits = { maxInFlight: 2, maxBatchSize: 64 }

function batching<I, D, O>(
  db: Database,
  draftOf: (item: I) => D,
  one: (q: Queryable, draft: D) => Promise<O>,
  many: (q: Queryable, drafts: readonly D[], wait: LockWait) => Promise<(O | undefined)[]>,
): (item: I) => Promise<O> {
  /** A holder whose row is locked for long holds up its own changes alone. */
  async function together(drafts: D[]): Promise<(O | undefined)[]> {
    try {
      return await many(db, drafts, 'brief')
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      return many(db, drafts, 'none')
    }
  }
  const write = batched<D, O>({
    ...limits,
    alone: (draft) => one(db, draft),
    together: async (drafts) => (await together(drafts)).map((answer) => answer ?? leftOut),
    isOfOne: isOfOneItem,
    aloneWaits: true,
  })
  return async (item) => write(draftOf(item))
}
