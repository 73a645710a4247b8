// Batches the claims of keys, and the ends of payments, that arrive together: one statement for many.
import { batched } from '#platform/db/batcher.ts'
import { type Database, isOfOneItem } from '#platform/db/db.ts'
import type { Bill } from '../domain/bill.ts'
import {
  type Claim,
  type Claimed,
  claimKeys,
  type EndDraft,
  writeEnds,
} from '../store/bill-store.ts'

/** Writes to bill payments, alone or with others; each answers and throws as the statement of `store/` does for one. */
export type BillWriter = {
  claim(claim: Claim): Promise<Claimed | undefined>
  end(draft: EndDraft): Promise<Bill | undefined>
}

/** Creates a writer that batches concurrent claims and ends. A row that the server refuses does not fail the others. */
export function batchingBills(db: Database): BillWriter {
  return {
    claim: batching((claims: readonly Claim[]) => claimKeys(db, claims)),
    end: batching((drafts: readonly EndDraft[]) => writeEnds(db, drafts)),
  }
}

function batching<I, O>(write: (items: readonly I[]) => Promise<O[]>): (item: I) => Promise<O> {
  return batched<I, O>({
    maxInFlight: 2,
    maxBatchSize: 64,
    alone: async (item) => (await write([item]))[0] as O,
    together: write,
    isOfOne: isOfOneItem,
  })
}
