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
const newcomer = {
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
      '`institution_name`, `first_name`, `last_name` and `email` narrow the search when given. 200 does not always mean a usable session: see `data.account.account_status` and `data.session`. The same `PW-request-id` with the same body gives the same session while that lives. `Accept`, when sent, must include `application/json`.',
    successes: {
      200: {
        says: 'One account matches. `data.session` is null for a suspended or closed one, and `data.resolution` says so.',
        fields: accountSessionOpened,
      },
    },
    reasons: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH', 'REQUEST_ID_REUSED'],
    reasonsInData: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH'],
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
      'Finds the account by number, institution and name and opens a session for it. The names of a sender are accepted and not used. `observed_client_ip` is shown only with `diagnostics=true`, and never in production.',
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
    summary: 'Make an account of a person',
    description:
      'As JSON, or as a form with artefacts: JPEG, PNG or PDF by their content, 10 MiB each and 25 MiB in all. Nobody finds the account until its review has accepted it. `callback_url` and `authorisation_token` go together: with both the end of the review is pushed to you, see the webhook `onboarding`.',
    successes: {
      200: { says: 'The profile is stored and waits for review.', fields: personalAccountMade },
    },
    reasons: ['ACCOUNT_EXISTS'],
    examples: {
      'Somebody new': { body: newcomer },
      'Somebody new, with an identity document': {
        form: {
          texts: { ...newcomer, dob: '1990-05-17', id_document1_type: 'passport' },
          files: ['id_document1_file', 'poa_file'],
        },
      },
    },
  },
  'POST /account/business_account': {
    id: 'createBusinessAccount',
    tag,
    summary: 'Make a merchant of your project',
    description:
      'Its `api_key` works with the subscription keys of your project. `pin`, `api_key` and `authorisation_token` are shown this once.',
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
    summary: 'Ask the holder of an account to let you act for him',
    description:
      'The token must be a live session of that very account. The holder has ten minutes; the outcome is pushed to `callback_url`, see the webhook `onboarding`.',
    successes: { 200: { says: 'The holder has been asked.', fields: registrationAsked } },
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
    summary: 'Read what is on an account',
    description: '`balance` is what is available; `data` tells the rest.',
    successes: { 200: { says: 'The balance at this moment.', fields: balanceRead } },
    reasons: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH'],
    examples: { 'Person 00': { query: { mobile_number: ama.mobile_number } } },
  },
  'POST /account/transaction_history': {
    id: 'listAccountTransactions',
    tag,
    summary: 'Read what moved on an account',
    description:
      'Newest first, the last seven days unless dates are given. While `has_more`, send `next_cursor` as `cursor`, with the same dates.',
    successes: { 200: { says: 'A page of the history.', fields: accountHistoryRead } },
    reasons: ['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH'],
    examples: { 'Person 00': { body: { mobile_number: ama.mobile_number, limit: 10 } } },
  },
}
