// Batches the inserts of quotes that arrive together into one statement.

import { batched } from '#platform/db/batcher.ts'
import { type Database, isRefused } from '#platform/db/db.ts'
import type { DraftQuote, Quote } from '../domain/quote.ts'
import { insertQuotes } from '../store/quote-store.ts'

/** Stores a quote, alone or with others; what it answers and throws is its own. */
export type StoreQuote = (draft: DraftQuote) => Promise<Quote>

/** Creates a quote writer that runs one statement for each quote. Quotes live for `ttlS` seconds. */
export function storingQuote(db: Database, ttlS: number): StoreQuote {
  return async (draft) => {
    const [quote] = await insertQuotes(db, [draft], ttlS)
    if (quote === undefined) throw new Error('one draft is one quote')
    return quote
  }
}

/** Creates a quote writer that batches concurrent inserts. A quote that the server refuses does not fail the others. */
export function batchingQuotes(db: Database, ttlS: number): StoreQuote {
  return batched<DraftQuote, Quote>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone: storingQuote(db, ttlS),
    together: (drafts) => insertQuotes(db, drafts, ttlS),
    isOfOne: isRefused,
  })
}
