// Documentation of the routes of quotes and institution transactions; inputs are described by their schemas.
import type { Reason } from '#core/errors/errors.ts'
import { demo, type Operations } from '../openapi/operation.ts'
import { transactionHistoryRead, transactionMade, transactionRead } from './institution/answers.ts'
import {
  institutionQuoteMade,
  institutionQuoteRead,
  quoteMade,
  quoteRead,
} from './quote/answers.ts'

const quotes = 'Quotes'
const transactions = 'Institution transactions'
const { institutionName: institution_name } = demo

const quoteReasons: Reason[] = [
  'CURRENCY_NOT_SUPPORTED',
  'LIMIT_EXCEEDED',
  'ACCOUNT_UNAVAILABLE',
  'ACCOUNT_NOT_FOUND',
  'AMBIGUOUS_MATCH',
]
const tenDollars = {
  session_token: '$SESSION_TOKEN',
  institution_name,
  request_amount: '10.00',
  request_currency: 'USD',
}

/** POST and GET /quote. */
export const quoteOperations: Operations = {
  'POST /quote': {
    id: 'createQuote',
    tag: quotes,
    summary: 'Create a quote',
    description:
      'A quote is valid for five minutes and for one execution. The quoted currency is `credit_party.currency`, else that of the account that `credit_party` names, else that of the account of the session. `rate` is quoted units for one requested unit; `amount_quoted` is rounded down. A transaction that uses the quote has `request_amount` as its `sender_amount` and `amount_quoted` as its `amount`. A quote does not use up the session.',
    successes: { 200: { says: 'The quote.', fields: quoteMade } },
    reasons: quoteReasons,
    examples: {
      'Ten dollars in another currency': {
        needs: ['SESSION_TOKEN'],
        body: { ...tenDollars, credit_party: { currency: 'TTD' } },
      },
    },
  },
  'GET /quote': {
    id: 'getQuote',
    tag: quotes,
    summary: 'Read a quote',
    description: 'Returns the quote as it was created.',
    successes: { 200: { says: 'The quote.', fields: quoteRead } },
    reasons: ['QUOTE_NOT_FOUND'],
    examples: {
      'A new quote': {
        needs: ['SESSION_TOKEN', 'QUOTE_ID'],
        query: { quote_id: '$QUOTE_ID', institution_name },
      },
    },
  },
}

/** The five routes under /institution. */
export const institutionOperations: Operations = {
  'POST /institution/transaction': {
    id: 'createInstitutionTransaction',
    tag: transactions,
    summary: 'Create an institution transaction',
    description:
      '`p2p` moves money between two accounts of the institution and is completed immediately; `inttransfer`, `deposit` and `cashout` are `pending` until the back end completes them. `session_token_enc` is the session token sealed under the shared key of the institution: base64 of the byte 1, key id, nonce, AES-256-GCM ciphertext and tag, with `session_token` as associated data. The first accepted transaction uses it up. `fees.sender_pays` is at most `sender_amount`, `fees.recipient_pays` at most `amount`, and `fees.total`, if sent, is the sum of `sender_pays`, `recipient_pays` and `convenience`. The amount and `sender_pays` together count against the limits of the account. A repeat of `transaction_id` with the same body returns the same receipt.',
    successes: { 200: { says: 'The transaction is accepted.', fields: transactionMade } },
    reasons: [
      'AMOUNT_OUT_OF_RANGE',
      'CURRENCY_NOT_SUPPORTED',
      'SAME_PARTIES',
      'LIMIT_EXCEEDED',
      'ACCOUNT_UNAVAILABLE',
      'PARTY_NOT_ALLOWED',
      'ACCOUNT_NOT_FOUND',
      'QUOTE_NOT_FOUND',
      'AMBIGUOUS_MATCH',
      'DUPLICATE_TRANSACTION_ID',
      'QUOTE_EXPIRED',
      'QUOTE_ALREADY_USED',
      'QUOTE_MISMATCH',
      'INSUFFICIENT_FUNDS',
    ],
    examples: {
      'One dollar from person 00 to person 01': {
        needs: ['SESSION_TOKEN', 'SESSION_TOKEN_ENC'],
        body: {
          session_token_enc: '$SESSION_TOKEN_ENC',
          transaction_id: `transfer-${demo.unique}`,
          amount: '1.00',
          transaction_type: 'p2p',
          debit_party: { mobile_number: '+12025550100' },
          credit_party: { mobile_number: '+12025550101' },
          transfer_information: { institution_name },
        },
      },
    },
  },
  'GET /institution/transaction': {
    id: 'getInstitutionTransaction',
    tag: transactions,
    summary: 'Read an institution transaction',
    description: 'Returns the current state of the transaction.',
    successes: { 200: { says: 'The transaction as it is now.', fields: transactionRead } },
    reasons: ['TRANSACTION_NOT_FOUND'],
    examples: {
      'A new transaction': {
        needs: ['SESSION_TOKEN', 'SESSION_TOKEN_ENC', 'TRANSACTION_ID'],
        query: { transaction_id: '$TRANSACTION_ID', institution_name },
      },
    },
  },
  'GET /institution/transaction_history': {
    id: 'listInstitutionTransactions',
    tag: transactions,
    summary: 'List the transactions with a mobile number on either side',
    description:
      'Your transactions, newest first, at the institutions whose transactions you may read. A day counts in full; the window is at most 90 days. While `has_more`, send `next_cursor` as `cursor`, with the same dates.',
    successes: { 200: { says: 'A page of the history.', fields: transactionHistoryRead } },
    reasons: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH'],
    examples: { 'Person 00': { query: { mobile_number: '+12025550100', limit: '10' } } },
  },
  'POST /institution/quote': {
    id: 'createInstitutionQuote',
    tag: quotes,
    summary: 'Create a quote in the currency of the session’s account',
    description:
      'Like `POST /quote`, and returns amounts, currencies and fees. Use it for money that enters the session’s account: the debit party pays `request_amount`, and the account receives `amount_quoted`.',
    successes: { 200: { says: 'The quote.', fields: institutionQuoteMade } },
    reasons: quoteReasons,
    examples: { 'Ten dollars': { needs: ['SESSION_TOKEN'], body: tenDollars } },
  },
  'GET /institution/post': {
    id: 'getInstitutionQuote',
    tag: quotes,
    summary: 'Read a quote and its transaction',
    description: 'The transaction fields are null until the quote is used.',
    successes: {
      200: { says: 'The quote and the transaction that used it.', fields: institutionQuoteRead },
    },
    reasons: ['QUOTE_NOT_FOUND'],
    examples: {
      'A new quote': {
        needs: ['SESSION_TOKEN', 'QUOTE_ID'],
        query: { quote_id: '$QUOTE_ID', institution_name },
      },
    },
  },
}
