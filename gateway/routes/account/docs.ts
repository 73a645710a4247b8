// Documentation of the /account routes; inputs are described by their schemas.

import { demo, type Operations } from '../../openapi/operation.ts'
import {
  accountHistoryRead,
  accountSessionOpened,
  accountStatusRead,
  balanceRead,
  businessAccountMade,
  personalAccountMade,
  registrationAsked,
} from './answers.ts'

const tag = 'Accounts'
const { institutionName: institution_name } = demo
const ama = { mobile_number: '+12025550100', first_name: 'Ama', last_name: 'Mensah' }
const newPerson = {
  first_name: 'Efua',
  last_name: 'Sutherland',
  email: 'efua@example.com',
  // Nobody in the sandbox has a number of Barbados, so it is free.
  mobile_number: '+1246$(( 2000000 + ($(date +%s) * 10 + $$) % 8000000 ))',
  institution_name,
}

/** The seven routes under /account. */
export const accountOperations: Operations = {
  'POST /account/account_session': {
    id: 'openAccountSession',
    tag,
    summary: 'Find an account and open a session for it',
    description:
      '`institution_name`, `first_name`, `last_name` and `email` narrow the search. A 200 response does not always have a session: see `data.account.account_status` and `data.session`. The same `PW-request-id` with the same body returns the same session while it is valid. `Accept`, if sent, must include `application/json`.',
    successes: {
      200: {
        says: 'One account matches. If it is suspended or closed, `data.session` is null and `data.resolution` has the reason.',
        fields: accountSessionOpened,
      },
    },
    reasons: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH', 'REQUEST_ID_REUSED'],
    reasonsInData: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH', 'REQUEST_ID_REUSED'],
    examples: {
      'Person 00 by number': {
        body: { lookup_type: 'MOBILE', lookup_value: '+12025550100', institution_name },
      },
    },
  },
  'GET /account/account': {
    id: 'getAccountStatus',
    tag,
    summary: 'Read whether an account is available',
    description:
      'Finds the account by number, institution and name and opens a session for it. The API ignores the names of a sender. `observed_client_ip` is shown only with `diagnostics=true`, and never in production.',
    successes: {
      200: {
        says: 'One account matches. `session_token` is null unless it is available.',
        fields: accountStatusRead,
      },
    },
    reasons: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH'],
    examples: { 'Person 00': { query: { ...ama, institution_name } } },
  },
  'POST /account/personal_account': {
    id: 'createPersonalAccount',
    tag,
    summary: 'Create a personal account',
    description:
      'Send JSON, or a form with artefacts: JPEG, PNG or PDF by their content, 10 MiB each and 25 MiB in all. Look-ups do not find the account until the review accepts it. Send both `callback_url` and `authorisation_token`, or neither: with them you get a signed callback when the review ends, see the webhook `onboarding`.',
    successes: {
      200: { says: 'The profile is stored and waits for its review.', fields: personalAccountMade },
    },
    reasons: ['ACCOUNT_EXISTS'],
    examples: {
      'A new person': { body: newPerson },
      'A new person, with an identity document': {
        form: {
          texts: { ...newPerson, dob: '1990-05-17', id_document1_type: 'passport' },
          files: ['id_document1_file', 'poa_file'],
        },
      },
    },
  },
  'POST /account/business_account': {
    id: 'createBusinessAccount',
    tag,
    summary: 'Create a business account: a merchant of your project',
    description:
      'Its `api_key` works with the subscription keys of your project. Only this response shows `pin`, `api_key` and `authorisation_token`.',
    successes: { 200: { says: 'The merchant and its credentials.', fields: businessAccountMade } },
    reasons: [],
    examples: {
      'A shop': {
        body: { business_name: 'Corner Shop', ...ama, email: 'ama@example.com' },
      },
    },
  },
  'POST /account/register_account': {
    id: 'registerAccount',
    tag,
    summary: 'Ask the holder of an account to let you act for them',
    description:
      '`session_token` must be a valid session of the same account. The holder has ten minutes to answer. You get the outcome at `callback_url`, see the webhook `onboarding`.',
    successes: {
      200: { says: 'The challenge was sent to the holder.', fields: registrationAsked },
    },
    reasons: ['ACCOUNT_NOT_FOUND', 'ACCOUNT_UNAVAILABLE', 'AMBIGUOUS_MATCH'],
    examples: {
      'Person 00, who consents': {
        needs: ['SESSION_TOKEN'],
        body: {
          ...ama,
          institution_name,
          session_token: '$SESSION_TOKEN',
          authorisation_token: 'token-0123456789',
          callback_url: '$SIMULATOR_URL/receivers/ok/a-secret-tag-of-your-own',
        },
      },
    },
  },
  'GET /account/balance': {
    id: 'getAccountBalance',
    tag,
    summary: 'Read the balance of an account',
    description: '`balance` is the available balance; `data` has all balances.',
    successes: { 200: { says: 'The balance at this moment.', fields: balanceRead } },
    reasons: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH'],
    examples: { 'Person 00': { query: { mobile_number: ama.mobile_number } } },
  },
  'POST /account/transaction_history': {
    id: 'listAccountTransactions',
    tag,
    summary: 'List the transactions of an account',
    description:
      'Newest first; the last seven days by default. While `has_more`, send `next_cursor` as `cursor`, with the same dates.',
    successes: { 200: { says: 'A page of the history.', fields: accountHistoryRead } },
    reasons: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH'],
    examples: { 'Person 00': { body: { mobile_number: ama.mobile_number, limit: 10 } } },
  },
}
