// The /account routes up to the operations, which a later service brings; it must not look anything up.

import type { Static } from 'typebox'
import { checkPushUrl } from '#core/push-url.ts'
import type { EdgeSettings } from '../options.ts'
import { compileQuery } from '../query.ts'
import { notBuilt, route } from '../route.ts'
import {
  accountHistoryBody,
  accountQuery,
  accountSessionBody,
  balanceQuery,
  businessAccountBody,
  personalAccountBody,
  personalAccountForm,
  registerAccountBody,
} from '../schemas/account.ts'
import { versionQuery } from '../schemas/values.ts'
import { type Check, compileCheck, invalidField, missingField } from '../validate.ts'
import { checkMoment, readPhone, readQueriedPhone } from '../values.ts'

type PersonalAccountBody = Static<typeof personalAccountBody>

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfAccount = compileQuery(accountQuery, version)
const queryOfBalance = compileQuery(balanceQuery, version)
const bodyOfSession = compileCheck(accountSessionBody)
const bodyOfPersonalAccount = compileCheck(personalAccountBody)
const formOfPersonalAccount: Check<PersonalAccountBody> = compileCheck(personalAccountForm)
const bodyOfBusinessAccount = compileCheck(businessAccountBody)
const bodyOfRegistration = compileCheck(registerAccountBody)
const bodyOfHistory = compileCheck(accountHistoryBody)

const common = { version, envelope: 'full', needsAccountAccess: true, operate: notBuilt } as const

/** The seven routes under /account. */
export const accountRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/account/account_session',
    requestIdRequired: true,
    acceptsJson: true,
    query: queryOfVersion,
    body: bodyOfSession,
    read({ body, originCountry }) {
      const { lookup_type, lookup_value } = body
      if (lookup_type === 'MOBILE') readPhone(lookup_value, originCountry, 'lookup_value')
      if (lookup_type === 'EMAIL' && !/^[^\s@]+@[^\s@]+$/.test(lookup_value)) {
        throw invalidField('lookup_value', 'must be an e-mail address')
      }
    },
    credential: { kind: 'none' },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/account/account',
    clientIpOnRequest: true,
    query: queryOfAccount,
    read: ({ query, originCountry }) => readQueriedPhone(query.mobile_number, originCountry),
    credential: { kind: 'none' },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/account/personal_account',
    query: queryOfVersion,
    body: bodyOfPersonalAccount,
    form: formOfPersonalAccount,
    read({ body, originCountry, settings }) {
      readPhone(body.mobile_number, originCountry, 'mobile_number')
      const { callback_url, authorisation_token } = body
      if (callback_url === undefined && authorisation_token === undefined) return
      if (callback_url === undefined) throw missingField('callback_url')
      if (authorisation_token === undefined) throw missingField('authorisation_token')
      checkCallbackUrl(callback_url, settings)
    },
    credential: { kind: 'none' },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/account/business_account',
    query: queryOfVersion,
    body: bodyOfBusinessAccount,
    read: ({ body, originCountry }) =>
      readPhone(body.mobile_number, originCountry, 'mobile_number'),
    credential: { kind: 'none' },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/account/register_account',
    query: queryOfVersion,
    body: bodyOfRegistration,
    read({ body, originCountry, settings }) {
      readPhone(body.mobile_number, originCountry, 'mobile_number')
      checkCallbackUrl(body.callback_url, settings)
    },
    credential: { kind: 'session' },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/account/balance',
    query: queryOfBalance,
    read: ({ query, originCountry }) => readQueriedPhone(query.mobile_number, originCountry),
    credential: { kind: 'none' },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/account/transaction_history',
    query: queryOfVersion,
    body: bodyOfHistory,
    read({ body, originCountry }) {
      readPhone(body.mobile_number, originCountry, 'mobile_number')
      checkMoment(body.start_date, 'start_date')
      checkMoment(body.end_date, 'end_date')
    },
    credential: { kind: 'none' },
  }),
]

function checkCallbackUrl(url: string, { allowLoopback }: EdgeSettings): void {
  const problem = checkPushUrl(url, { allowLoopback })
  if (problem !== undefined) throw invalidField('callback_url', problem)
}
