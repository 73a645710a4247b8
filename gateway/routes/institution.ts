// The /institution routes up to the operations, which a later service brings; it must not judge a transfer.
import type { Static } from 'typebox'
import { QuoteKind } from '#gen/quotes/v1/quotes_pb.js'
import { withProject } from '#runtime/rpc/client.ts'
import { retell } from '../envelope.ts'
import { compileQuery } from '../query.ts'
import { newInstitutionQuoteFields, postQuoteFields } from '../quote-answer.ts'
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
import {
  checkAmount,
  checkMoment,
  readAmount,
  readCurrency,
  readPhone,
  readQueriedPhone,
} from '../values.ts'

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
    read({ body, originCountry }) {
      checkMoment(body.transaction_date?.slice(0, 19).replace('T', ' '), 'transaction_date')
      checkFees(body.fees)
      checkParty(body.debit_party, originCountry, 'debit_party')
      checkParty(body.credit_party, originCountry, 'credit_party')
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
      const minorUnits = readAmount(body.request_amount, currency, 'request_amount')
      return {
        kind: QuoteKind.INSTITUTION,
        sessionToken: body.session_token,
        institutionName: body.institution_name,
        requested: { currency, minorUnits },
      }
    },
    institution: ({ body }) => body.institution_name,
    credential: { kind: 'session' },
    async operate(asked, { services, projectId }) {
      const { quote } = await services.quotes
        .createQuote({ ...asked, projectId }, withProject(projectId))
        .catch(retell())
      const fields = newInstitutionQuoteFields(quote)
      return { code: 200, message: 'Quote created successfully.', fields }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/institution/post',
    query: queryOfPost,
    read: ({ query }) => ({ quoteId: query.quote_id, institutionName: query.institution_name }),
    institution: ({ query }) => query.institution_name,
    credential: { kind: 'none' },
    async operate(asked, { services, projectId }) {
      const { quote } = await services.quotes
        .getQuote({ ...asked, projectId }, withProject(projectId))
        .catch(retell())
      return { code: 200, message: 'Quote retrieved successfully.', fields: postQuoteFields(quote) }
    },
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

type Transaction = Static<typeof institutionTransactionBody>

/** The currency and the number of a party, in either of its shapes. */
function checkParty(party: Transaction['debit_party'], country: string, path: string): void {
  if (!Array.isArray(party)) {
    checkPartyValue('currency', party.currency, country, `${path}.currency`)
    checkPartyValue('mobile_number', party.mobile_number, country, `${path}.mobile_number`)
    return
  }
  for (const [index, { key, value }] of party.entries()) {
    checkPartyValue(key, value, country, `${path}[${index}].value`)
  }
}

function checkPartyValue(key: string, value = '', country: string, path: string): void {
  if (value === '') return
  if (key === 'currency') readCurrency(value, path)
  if (key === 'mobile_number') readPhone(value, country, path)
}

/** Fees as an object name no currency; only the service knows it. */
function checkFees(fees: Transaction['fees']): void {
  if (!Array.isArray(fees)) return
  for (const [index, { fee_amount, fee_currency }] of fees.entries()) {
    const path = `fees[${index}]`
    const currency = readCurrency(fee_currency, `${path}.fee_currency`)
    readAmount(fee_amount, currency, `${path}.fee_amount`, { allowZero: true })
  }
}
