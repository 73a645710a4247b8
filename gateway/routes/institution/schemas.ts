// Bodies and queries of the /institution routes.
import { Type } from 'typebox'
import {
  amount,
  credential,
  currency,
  dayOrMoment,
  idText,
  institutionName,
  list,
  mobileNumber,
  multilineText,
  oneOf,
  optional,
  record,
  text,
} from '../schema-values.ts'

/** Only the value of `metadata` may have more than one line: `joinPairs` refuses it elsewhere. */
const pairValue = Type.String({ minLength: 0, ...multilineText(1000) })

/** Longest text of each field of a party, in both of its shapes. */
export const partyLengths = {
  mobile_number: 32,
  organization_id: 100,
  account_number: 64,
  account_type: 64,
  currency: 3,
  metadata: 1000,
}

const pairKey = { ...text(1, 64), knownNames: Object.keys(partyLengths) }
const keyValuePairs = list(record({ key: pairKey, value: pairValue }), 0, 32)

const partyFields = record({
  mobile_number: optional(text(0, partyLengths.mobile_number)),
  organization_id: optional(text(0, partyLengths.organization_id)),
  account_number: optional(text(0, partyLengths.account_number)),
  account_type: optional(text(0, partyLengths.account_type)),
  currency: optional(currency()),
  metadata: optional(multilineText(partyLengths.metadata)),
})

const party = Type.Union([partyFields, keyValuePairs], {
  rule: 'must be an object or a list of key/value pairs of texts',
})

const feesByType = {
  total: optional(amount()),
  convenience: optional(amount()),
  sender_pays: optional(amount()),
  recipient_pays: optional(amount()),
}
const feeType = { ...text(1, 64), knownNames: Object.keys(feesByType) }
const fees = Type.Union(
  [
    record(feesByType),
    list(record({ fee_type: feeType, fee_amount: amount(), fee_currency: currency() }), 0, 20),
  ],
  { rule: 'must be an object of amounts or a list of fee_type, fee_amount and fee_currency' },
)

const kyc = record({
  nationality: optional(text(0, 100)),
  full_name: optional(text(0, 200)),
  country: optional(text(0, 100)),
})

/** Body of POST /institution/transaction, in both documented shapes. */
export const institutionTransactionBody = record({
  session_token_enc: credential(),
  transaction_id: idText(1, 64),
  transaction_date: optional(
    Type.String({
      pattern:
        '^\\d{4}-\\d{2}-\\d{2}( \\d{2}:\\d{2}:\\d{2}|T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?(Z|[+-]00:00))$',
      rule: 'must be YYYY-MM-DD HH:mm:ss or ISO 8601 in UTC',
      logged: 'value',
    }),
  ),
  amount: amount(),
  sender_currency: optional(currency()),
  sender_amount: optional(amount()),
  description: optional(multilineText(1000)),
  transaction_type: oneOf('p2p', 'inttransfer', 'deposit', 'cashout'),
  fees: optional(fees),
  debit_party: party,
  credit_party: party,
  sender_kyc: optional(kyc),
  recipient_kyc: optional(kyc),
  quote_id: optional(idText(1, 255)),
  transfer_information: record({
    institution_name: institutionName(),
    receiving_country: optional(text(0, 100)),
    remittance_purpose: optional(text(0, 255)),
    source_of_funds: optional(text(0, 255)),
    relationship_sender: optional(text(0, 255)),
  }),
})

/** Query of GET /institution/transaction. */
export const institutionTransactionQuery = record({
  version: idText(1, 20),
  transaction_id: idText(1, 64),
  institution_name: institutionName(),
})

/** Body of POST /institution/quote. */
export const institutionQuoteBody = record({
  session_token: credential(),
  institution_name: institutionName(),
  request_amount: amount(),
  request_currency: currency(),
})

/** Query of GET /institution/post. */
export const institutionPostQuery = record({
  version: idText(1, 20),
  quote_id: idText(1, 255),
  institution_name: institutionName(),
})

/** Query of GET /institution/transaction_history. */
export const institutionHistoryQuery = record({
  version: idText(1, 20),
  mobile_number: mobileNumber(),
  start_datetime: optional(dayOrMoment()),
  end_datetime: optional(dayOrMoment()),
  limit: optional(
    Type.String({
      pattern: '^([1-9]\\d?|1\\d\\d|200)$',
      rule: 'must be an integer from 1 to 200',
      logged: 'value',
    }),
  ),
  cursor: optional(text(1, 512)),
})
