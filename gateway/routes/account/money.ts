// The routes that read an account's balance and history.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Static } from 'typebox'
import { Failure } from '#core/errors/errors.ts'
import { formatAmount } from '#core/money/money.ts'
import { formatIso } from '#core/text/time.ts'
import type {
  AccountTransaction,
  GetAccountBalanceResponse,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { refusal, toPublicError } from '../../http/envelope.ts'
import { type Input, route } from '../../http/route.ts'
import {
  compileCheck,
  compileQuery,
  invalidField,
  readPhone,
  readQueriedPhone,
  readWindow,
  withPlus,
} from '../../http/validate.ts'
import { dateTimeOrNull, decimalOf } from '../rpc-fields.ts'
import { versionQuery } from '../schema-values.ts'
import { accountHistoryBody, balanceQuery } from './schemas.ts'

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfBalance = compileQuery(balanceQuery, version)
const bodyOfHistory = compileCheck(accountHistoryBody)
const common = { version, envelope: 'full', needsAccountAccess: true } as const

/** GET /account/balance and POST /account/transaction_history. */
export const accountMoneyRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/account/balance',
    query: queryOfBalance,
    read: ({ query, originCountry }) => ({
      mobileNumber: readQueriedPhone(query.mobile_number, originCountry),
      asSent: withPlus(query.mobile_number),
    }),
    credential: { kind: 'none' },
    async operate({ mobileNumber, asSent }, { services, projectId, countLookup }) {
      countLookup('balance', mobileNumber)
      const found = await services.accounts
        .getAccountBalance({ projectId, mobileNumber }, withProject(projectId))
        .catch(publicNumberError)
      const data = renderBalance(asSent, found)
      const fields = { balance: data.available_balance, data }
      return { code: 200, message: 'Balance retrieved successfully.', fields }
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/account/transaction_history',
    query: queryOfVersion,
    body: bodyOfHistory,
    read: readHistory,
    credential: { kind: 'none' },
    async operate({ asSent, ...request }, { services, projectId, countLookup }) {
      countLookup('account history', request.mobileNumber)
      const { transactions, nextPageToken } = await services.accounts
        .listAccountTransactions({ ...request, projectId }, withProject(projectId))
        .catch(publicNumberError)
      const data = {
        mobile_number: asSent,
        transactions: transactions.map(renderTransaction),
        count: transactions.length,
        has_more: nextPageToken !== '',
        next_cursor: nextPageToken === '' ? null : nextPageToken,
      }
      return { code: 200, message: 'Transaction history retrieved successfully.', fields: { data } }
    },
  }),
]

function readHistory({ body, originCountry }: Input<unknown, Static<typeof accountHistoryBody>>) {
  const mobileNumber = readPhone(body.mobile_number, originCountry, 'mobile_number')
  const { start, end } = readWindow(body, 'start_date', 'end_date')
  return {
    asSent: body.mobile_number,
    mobileNumber,
    ...(start === undefined ? {} : { startTime: timestampFromDate(start) }),
    ...(end === undefined ? {} : { endTime: timestampFromDate(end) }),
    pageSize: body.limit ?? 0,
    pageToken: body.cursor ?? '',
  }
}

/** Translates errors about a number alone, or about the page, into the texts of these routes. */
function publicNumberError(error: unknown): never {
  if (error instanceof Failure) {
    if (error.reason === 'AMBIGUOUS_MATCH') {
      const message = 'Several accounts have this mobile number.'
      throw new Failure(error.reason, message, { cause: error })
    }
    const { field } = error.details
    if (field === 'page_token') {
      throw invalidField('cursor', 'must be the next_cursor of the page before, with its dates')
    }
    // Here both dates are known to be in order, so it is the end that was not given.
    if (field === 'start_time') throw invalidField('start_date', 'must not be in the future')
  }
  return toPublicError()(error)
}

function renderBalance(asSent: string, found: GetAccountBalanceResponse) {
  const { account, asOfTime } = found
  if (account === undefined || asOfTime === undefined) throw refusal('INTERNAL_ERROR')
  const isAvailable = account.accountStatus === AccountStatus.AVAILABLE
  return {
    mobile_number: asSent,
    currency: account.currency,
    current_balance: decimalOf(found.currentBalance),
    available_balance: decimalOf(found.availableBalance),
    reserved_balance: decimalOf(found.reservedBalance),
    uncleared_balance: decimalOf(found.unclearedBalance),
    account_status: isAvailable ? 'available' : 'unavailable',
    as_of: formatIso(timestampDate(asOfTime)),
  }
}

function renderTransaction(transaction: AccountTransaction) {
  const { amount, cleared } = transaction
  if (amount === undefined) throw refusal('INTERNAL_ERROR')
  const { currency, minorUnits } = amount
  return {
    transaction_id: transaction.transactionId,
    type: minorUnits < 0n ? 'debit' : 'credit',
    amount: formatAmount(minorUnits < 0n ? -minorUnits : minorUnits, currency),
    currency,
    fees: transaction.fees === undefined ? formatAmount(0n, currency) : decimalOf(transaction.fees),
    description: transaction.description,
    status: cleared ? 'completed' : 'pending',
    transaction_method: transaction.transactionMethod,
    posted_date: dateTimeOrNull(transaction.postTime),
    cleared_date: dateTimeOrNull(transaction.clearTime),
    metadata: transaction.metadata,
  }
}
