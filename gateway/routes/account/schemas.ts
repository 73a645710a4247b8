// Bodies and queries of the /account routes.
import { Type } from 'typebox'
import {
  credential,
  dayOrMoment,
  email,
  emailOrEmpty,
  idText,
  institutionName,
  integer,
  mobileNumber,
  oneOf,
  optional,
  personName,
  record,
  text,
} from '../schema-values.ts'

const authorisationToken = text(10, 40)
const callbackUrl = text(1, 200)

/** Body of POST /account/account_session. */
export const accountSessionBody = record({
  lookup_type: oneOf('MOBILE', 'EMAIL', 'ACCOUNT_NUMBER'),
  lookup_value: text(1, 254),
  institution_name: optional(text(0, 100)),
  first_name: optional(text(0, 100)),
  last_name: optional(text(0, 100)),
  email: optional(emailOrEmpty()),
})

/** Query of GET /account/account. */
export const accountQuery = record({
  version: idText(1, 20),
  mobile_number: mobileNumber(),
  institution_name: institutionName(),
  first_name: personName(),
  last_name: personName(),
  email: optional(emailOrEmpty()),
  sender_first_name: optional(text(0, 100)),
  sender_last_name: optional(text(0, 100)),
  diagnostics: optional(oneOf('true', 'false')),
})

/** Body of POST /account/personal_account, also as the text fields of a form. */
export const personalAccountBody = record({
  first_name: personName(),
  last_name: personName(),
  email: email(),
  mobile_number: mobileNumber(),
  institution_name: institutionName(),
  callback_url: optional(callbackUrl),
  authorisation_token: optional(authorisationToken),
})

const documentFields = ['type', 'number', 'issue_date', 'expire_date', 'issued_country', 'name']

/** Text fields that only a form has. */
export const personalAccountFormFields = [
  'dob',
  'nationality',
  'occupation',
  'address_line1',
  'address_line2',
  'address_line3',
  'city',
  'state_province',
  'postal_code',
  'country',
  ...documentFields.map((name) => `id_document1_${name}`),
  ...documentFields.map((name) => `id_document2_${name}`),
  'poa_type',
  'poa_bill_date',
  'poa_name',
  'poa_address',
]

/** Files of a form. */
export const personalAccountFiles = new Set([
  'id_document1_file',
  'id_document2_file',
  'poa_file',
  'selfie',
])

/** POST /account/personal_account as a form: the JSON fields and the text fields of the artefacts. */
export const personalAccountForm = Type.Object(
  {
    ...personalAccountBody.properties,
    ...Object.fromEntries(personalAccountFormFields.map((name) => [name, optional(text(0, 255))])),
  },
  { rule: 'must be an object' },
)

/** Body of POST /account/business_account. */
export const businessAccountBody = record({
  business_name: text(1, 100),
  first_name: personName(),
  last_name: personName(),
  email: email(),
  mobile_number: mobileNumber(),
})

/** Body of POST /account/register_account. */
export const registerAccountBody = record({
  mobile_number: mobileNumber(),
  institution_name: institutionName(),
  first_name: personName(),
  last_name: personName(),
  session_token: credential(),
  authorisation_token: authorisationToken,
  callback_url: callbackUrl,
})

/** Query of GET /account/balance. */
export const balanceQuery = record({ version: idText(1, 20), mobile_number: mobileNumber() })

/** Body of POST /account/transaction_history. */
export const accountHistoryBody = record({
  mobile_number: mobileNumber(),
  start_date: optional(dayOrMoment()),
  end_date: optional(dayOrMoment()),
  limit: optional(integer(1, 200)),
  cursor: optional(text(1, 512)),
})
