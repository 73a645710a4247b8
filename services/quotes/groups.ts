// Stores quotes that are made together in one statement: the more there are, the less each costs. It must not price any.
import { type Database, isRefused } from '#runtime/db.ts'
import { grouped } from '#runtime/grouping.ts'
import type { DraftQuote, Quote } from './quote.ts'
import { insertQuotes } from './store.ts'

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
export function groupingQuotes(db: Database, ttlS: number): StoreQuote {
  return grouped<DraftQuote, Quote>({
    mostUnderWay: 2,
    mostInGroup: 32,
    alone: storingQuote(db, ttlS),
    together: (drafts) => insertQuotes(db, drafts, ttlS),
    isOfOne: isRefused,
  })
}
