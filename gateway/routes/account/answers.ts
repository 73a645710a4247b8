// Response schemas of the /account routes.
import { Type } from 'typebox'
import {
  anyText,
  count,
  currencyCode,
  dateTime,
  fieldsOf,
  historyPage,
  idText,
  isoTime,
  nullable,
  paidAmount,
  uuid,
  word,
} from '../answer-values.ts'

const usable = () => word(['available', 'unavailable'])
const sessionToken = () => Type.String({ pattern: '^pws_[\\w-]{43}$' })
const key = (length: number) => Type.String({ pattern: `^[0-9A-Za-z]{${length}}$` })

/** POST /account/account_session. */
export const accountSessionOpened = {
  data: fieldsOf({
    request_id: uuid(),
    version: Type.Literal('2024-10-01'),
    lookup: fieldsOf({
      type: word(['MOBILE', 'EMAIL', 'ACCOUNT_NUMBER']),
      value_masked: anyText(),
    }),
    account: fieldsOf({
      account_status: usable(),
      account_number: nullable(anyText()),
      account_type: anyText(),
      display_name: anyText(),
      country: anyText(),
    }),
    session: nullable(
      fieldsOf({
        session_token: sessionToken(),
        expires_at: isoTime(),
        ttl_seconds: count(),
        single_use: Type.Boolean(),
      }),
    ),
    resolution: Type.Optional(
      fieldsOf({ usable: Type.Literal(false), reason_code: Type.Literal('ACCOUNT_UNAVAILABLE') }),
    ),
  }),
}

/** GET /account/account. */
export const accountStatusRead = {
  account_status: usable(),
  session_token: nullable(sessionToken()),
}

/** POST /account/personal_account. */
export const personalAccountMade = {
  data: fieldsOf({
    account_id: uuid(),
    account_status: Type.Literal('pending_review'),
    account_type: anyText(),
    mobile_number: anyText(),
    email: anyText(),
  }),
}

/** POST /account/business_account. */
export const businessAccountMade = {
  pin: Type.Integer({ minimum: 100_000, maximum: 999_999 }),
  api_key: key(32),
  authorisation_token: key(32),
}

/** POST /account/register_account. */
export const registrationAsked = { challengeId: idText() }

/** GET /account/balance. */
export const balanceRead = {
  balance: paidAmount(),
  data: fieldsOf({
    mobile_number: anyText(),
    currency: currencyCode(),
    current_balance: paidAmount(),
    available_balance: paidAmount(),
    reserved_balance: paidAmount(),
    uncleared_balance: paidAmount(),
    account_status: usable(),
    as_of: isoTime(),
  }),
}

/** POST /account/transaction_history. */
export const accountHistoryRead = {
  data: historyPage(
    fieldsOf({
      transaction_id: idText(),
      type: word(['credit', 'debit']),
      amount: paidAmount(),
      currency: currencyCode(),
      fees: paidAmount(),
      description: anyText(),
      status: word(['completed', 'pending']),
      transaction_method: anyText(),
      posted_date: nullable(dateTime()),
      cleared_date: nullable(dateTime()),
      metadata: Type.Record(Type.String(), Type.String()),
    }),
  ),
}
