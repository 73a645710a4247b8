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

/** Writes to the ledger in batches. Each function returns and throws what the one of the same name for a single item does. */
export type LedgerWriter = {
  postTransfer(transfer: NewTransfer): Promise<Posted>
  createHold(hold: NewHold): Promise<PlacedHold>
  postHold(hold: HoldLines): Promise<PostedHold>
}

/** Makes the batchers. An item that is refused does not affect the others of its batch. */
export function batchingLedger(db: Database): LedgerWriter {
  return {
    postTransfer: batching(db, transferDraft, postDraft, postDrafts),
    createHold: batching(db, holdDraft, placeHold, placeHolds),
    postHold: batching(db, holdPosting, postPosting, postPostings),
  }
}

// Two in flight: a batch locks the rows of its accounts until it is committed, and another one is sent meanwhile.
const limits = { maxInFlight: 2, maxBatchSize: 64 }

function batching<I, D, O>(
  db: Database,
  draftOf: (item: I) => D,
  one: (q: Queryable, draft: D) => Promise<O>,
  many: (q: Queryable, drafts: readonly D[], wait: LockWait) => Promise<(O | undefined)[]>,
): (item: I) => Promise<O> {
  /** Waits briefly for locks, and then writes without the holders whose rows are still locked, so that one does not delay the others. */
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
