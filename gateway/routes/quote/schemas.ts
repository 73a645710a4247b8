// Body and query of the /quote routes.
import {
  amount,
  credential,
  currency,
  idText,
  institutionName,
  optional,
  record,
  text,
  textOrObject,
} from '../schema-values.ts'

const party = record({
  mobile_number: optional(text(0, 32)),
  organization_id: optional(text(0, 100)),
  account_number: optional(text(0, 64)),
  account_type: optional(text(0, 64)),
  currency: optional(currency()),
  country: optional(text(0, 100)),
  metadata: optional(textOrObject(1000)),
})

/** Body of POST /quote. */
export const quoteBody = record({
  session_token: credential(),
  institution_name: institutionName(),
  request_amount: amount(),
  request_currency: currency(),
  debit_party: optional(party),
  credit_party: optional(party),
})

/** Query of GET /quote. */
export const quoteQuery = record({
  version: idText(1, 20),
  quote_id: idText(1, 255),
  institution_name: institutionName(),
})
