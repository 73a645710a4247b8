// The routes of institution transactions: create one, read receipts and histories.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Static } from 'typebox'
import { withProject } from '#platform/rpc/client/client.ts'
import { toPublicError } from '../../http/envelope.ts'
import { type Input, route } from '../../http/route.ts'
import {
  compileCheck,
  compileQuery,
  readQueriedPhone,
  readWindow,
  withPlus,
} from '../../http/validate.ts'
import { versionQuery } from '../schema-values.ts'
import {
  institutionHistoryQuery,
  institutionTransactionBody,
  institutionTransactionQuery,
} from './schemas.ts'
import { createdFields, historyItem, transactionFields } from './transaction-answer.ts'
import { readTransaction } from './transaction-request.ts'

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfTransaction = compileQuery(institutionTransactionQuery, version)
const queryOfHistory = compileQuery(institutionHistoryQuery, version)
const bodyOfTransaction = compileCheck(institutionTransactionBody)

const common = { version, envelope: 'full' } as const

/** POST and GET /institution/transaction, GET /institution/transaction_history. */
export const institutionTransactionRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/institution/transaction',
    query: queryOfVersion,
    body: bodyOfTransaction,
    read: readTransaction,
    institution: ({ body }) => body.transfer_information.institution_name,
    // Judged by the service, which recognises a repeat first: a spent token does not fail it.
    credential: { kind: 'session' },
    async operate(request, { services, projectId }) {
      const { transaction } = await services.institution
        .createTransaction({ ...request, projectId }, withProject(projectId))
        .catch(toPublicError())
      const message = 'Institution transaction accepted successfully.'
      return { code: 200, message, fields: createdFields(transaction) }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/institution/transaction',
    query: queryOfTransaction,
    read: ({ query }) => ({
      transactionId: query.transaction_id,
      institutionName: query.institution_name,
    }),
    institution: ({ query }) => query.institution_name,
    credential: { kind: 'none' },
    async operate(request, { services, projectId }) {
      const { transaction } = await services.institution
        .getTransaction({ ...request, projectId }, withProject(projectId))
        .catch(toPublicError())
      const message = 'Institution transaction retrieved successfully.'
      return { code: 200, message, fields: transactionFields(transaction) }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/institution/transaction_history',
    query: queryOfHistory,
    read: readHistory,
    credential: { kind: 'none' },
    async operate({ asSent, ...request }, { services, projectId, countLookup }) {
      countLookup('institution history', request.mobileNumber)
      const { transactions, nextPageToken } = await services.institution
        .listTransactions({ ...request, projectId }, withProject(projectId))
        .catch(toPublicError())
      const data = {
        mobile_number: asSent,
        transactions: transactions.map(historyItem),
        count: transactions.length,
        has_more: nextPageToken !== '',
        next_cursor: nextPageToken === '' ? null : nextPageToken,
      }
      const message = 'Institution transaction history retrieved successfully.'
      return { code: 200, message, fields: { data } }
    },
  }),
]

function readHistory({
  query,
  originCountry,
}: Input<Static<typeof institutionHistoryQuery>, unknown>) {
  const mobileNumber = readQueriedPhone(query.mobile_number, originCountry)
  const { start, end } = readWindow(query, 'start_datetime', 'end_datetime')
  return {
    asSent: withPlus(query.mobile_number),
    mobileNumber,
    ...(start === undefined ? {} : { startTime: timestampFromDate(start) }),
    ...(end === undefined ? {} : { endTime: timestampFromDate(end) }),
    pageSize: query.limit === undefined ? 0 : Number(query.limit),
    pageToken: query.cursor ?? '',
  }
}
