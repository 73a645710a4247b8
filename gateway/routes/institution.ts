// The /institution routes up to the operations, which a later service brings; it must not judge a transfer.
import { compileQuery } from '../query.ts'
import { notBuilt, route } from '../route.ts'
import {
  institutionHistoryQuery,
  institutionPostQuery,
  institutionQuoteBody,
  institutionTransactionBody,
  institutionTransactionQuery,
} from '../schemas/institution.ts'
import { versionQuery } from '../schemas/values.ts'
import { compileCheck } from '../validate.ts'
import { checkAmount, checkMoment, readAmount, readCurrency, readQueriedPhone } from '../values.ts'

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfTransaction = compileQuery(institutionTransactionQuery, version)
const queryOfPost = compileQuery(institutionPostQuery, version)
const queryOfHistory = compileQuery(institutionHistoryQuery, version)
const bodyOfTransaction = compileCheck(institutionTransactionBody)
const bodyOfQuote = compileCheck(institutionQuoteBody)

const common = { version, envelope: 'full', operate: notBuilt } as const

/** The five routes under /institution. */
export const institutionRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/institution/transaction',
    query: queryOfVersion,
    body: bodyOfTransaction,
    read({ body }) {
      checkMoment(body.transaction_date?.slice(0, 10), 'transaction_date')
      const { sender_currency, sender_amount } = body
      checkAmount(body.amount, 'amount')
      if (sender_amount !== undefined) checkAmount(sender_amount, 'sender_amount')
      if (sender_currency !== undefined) {
        readCurrency(sender_currency, 'sender_currency')
        if (sender_amount !== undefined) readAmount(sender_amount, sender_currency, 'sender_amount')
      }
    },
    institution: ({ body }) => body.transfer_information.institution_name,
    credential: { kind: 'session' },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/institution/transaction',
    query: queryOfTransaction,
    read: ({ query }) => query.transaction_id,
    institution: ({ query }) => query.institution_name,
    credential: { kind: 'none' },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/institution/quote',
    query: queryOfVersion,
    body: bodyOfQuote,
    read({ body }) {
      const currency = readCurrency(body.request_currency, 'request_currency')
      return readAmount(body.request_amount, currency, 'request_amount')
    },
    institution: ({ body }) => body.institution_name,
    credential: { kind: 'session' },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/institution/post',
    query: queryOfPost,
    read: ({ query }) => query.quote_id,
    institution: ({ query }) => query.institution_name,
    credential: { kind: 'none' },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/institution/transaction_history',
    query: queryOfHistory,
    read({ query, originCountry }) {
      checkMoment(query.start_datetime, 'start_datetime')
      checkMoment(query.end_datetime, 'end_datetime')
      return readQueriedPhone(query.mobile_number, originCountry)
    },
    credential: { kind: 'none' },
  }),
]
