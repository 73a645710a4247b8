// Batches the inserts of quotes that arrive together into one statement.

import { batched } from '#platform/db/batcher.ts'
import { type Database, isRefused } from '#platform/db/db.ts'
import type { DraftQuote, Quote } from '../domain/quote.ts'
import { insertQuotes } from '../store/quote-store.ts'

/** Stores a quote, alone or with others; what it answers and throws is its own. */
export type StoreQuote = (draft: DraftQuote) => Promise<Quote>

/** Makes what stores each quote by itself; they live for `ttlS`. */
export function storingQuote(db: Database, ttlS: number): StoreQuote {
  return async (draft) => {
    const [quote] = await insertQuotes(db, [draft], ttlS)
    if (quote === undefined) throw new Error('one draft is one quote')
    return quote
  }
}

/** Makes what stores quotes together. One that the server refuses is refused alone. */
export function batchingQuotes(db: Database, ttlS: number): StoreQuote {
  return batched<DraftQuote, Quote>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone: storingQuote(db, ttlS),
    together: (drafts) => insertQuotes(db, drafts, ttlS),
    isOfOne: isRefused,
  })
}
