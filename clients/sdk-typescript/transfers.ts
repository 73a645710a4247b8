// Calls about quotes and institution transactions.
import { PageList } from './pages.ts'
import type { CallOptions, Send } from './transport.ts'
import type {
  InstitutionQuote,
  InstitutionQuoteState,
  InstitutionTransaction,
  NewInstitutionQuote,
  NewInstitutionTransaction,
  NewQuote,
  Quote,
  QuoteState,
  Receipt,
  TransactionFilter,
  TransactionSummary,
} from './types/transfers.ts'

const version = '2024-10-01'

/** Names a quote. */
export type QuoteName = { quote_id: string; institution_name: string }

/** Names a transaction by your own id. */
export type TransactionName = { transaction_id: string; institution_name: string }

/** Makes the calls about quotes to any currency. */
export function quoteCalls(send: Send) {
  return {
    /** Converts an amount into the other party's currency, at a rate that holds for five minutes. */
    create(quote: NewQuote, options?: CallOptions): Promise<Quote> {
      return send({ method: 'POST', path: '/quote', version, body: quote }, options)
    },

    /** Reads a quote. */
    get(query: QuoteName, options?: CallOptions): Promise<QuoteState> {
      return send({ method: 'GET', path: '/quote', version, query }, options)
    },
  }
}

/** Makes the calls about transactions and quotes of an institution. */
export function institutionCalls(send: Send) {
  return {
    /**
     * Moves money between accounts. `session_token_enc` is `sealValue(sessionToken, key)`. The same `transaction_id` with
     * the same content is one transaction, however often it is sent.
     */
    createTransaction(
      transaction: NewInstitutionTransaction,
      options?: CallOptions,
    ): Promise<Receipt> {
      const path = '/institution/transaction'
      return send({ method: 'POST', path, version, body: transaction }, options)
    },

    /** Reads a transaction by your own id. */
    transaction(query: TransactionName, options?: CallOptions): Promise<InstitutionTransaction> {
      return send({ method: 'GET', path: '/institution/transaction', version, query }, options)
    },

    /** Creates a quote in the currency of the session's account. */
    createQuote(quote: NewInstitutionQuote, options?: CallOptions): Promise<InstitutionQuote> {
      return send({ method: 'POST', path: '/institution/quote', version, body: quote }, options)
    },

    /** Reads a quote with its state and the transaction that used it. */
    quote(query: QuoteName, options?: CallOptions): Promise<InstitutionQuoteState> {
      return send({ method: 'GET', path: '/institution/post', version, query }, options)
    },

    /** Lists your transactions with a number on either side, newest first. */
    transactions(filter: TransactionFilter, options?: CallOptions): PageList<TransactionSummary> {
      const path = '/institution/transaction_history'
      return new PageList(async (cursor) => {
        const query = { ...filter, cursor }
        type Listed = { data: { transactions: TransactionSummary[]; next_cursor: string | null } }
        const { data } = await send<Listed>({ method: 'GET', path, version, query }, options)
        return { items: data.transactions, nextCursor: data.next_cursor ?? undefined }
      })
    },
  }
}
