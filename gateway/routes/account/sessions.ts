// The routes that look an account up and open a session for it.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Static } from 'typebox'
import { Failure } from '#core/errors/errors.ts'
import { fingerprint } from '#core/identity/digest.ts'
import { maskLookup } from '#core/text/mask.ts'
import { normalizeEmail } from '#core/text/text.ts'
import { formatIso } from '#core/text/time.ts'
import {
  type Account,
  LookupType,
  type OpenSessionResponse,
  type Session,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { knownFields } from '../../http/body/schema-fields.ts'
import { refusal, toPublicError } from '../../http/envelope.ts'
import { type Input, route } from '../../http/route.ts'
import {
  compileCheck,
  compileQuery,
  invalidField,
  readPhone,
  readQueriedPhone,
} from '../../http/validate.ts'
import { versionQuery } from '../schema-values.ts'
import { accountQuery, accountSessionBody } from './schemas.ts'

type SessionBody = Static<typeof accountSessionBody>

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfAccount = compileQuery(accountQuery, version)
const bodyOfSession = compileCheck(accountSessionBody)
const fingerprinted = knownFields(accountSessionBody)
const common = { version, envelope: 'full', needsAccountAccess: true } as const

/** POST /account/account_session and GET /account/account. */
export const accountSessionRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/account/account_session',
    requestIdRequired: true,
    acceptsJson: true,
    query: queryOfVersion,
    body: bodyOfSession,
    read: readLookup,
    credential: { kind: 'none' },
    async operate(
      { lookup, type, comparedValue, valueMasked },
      { services, projectId, requestId, countLookup },
    ) {
      countLookup('session', `${type} ${comparedValue}`)
      const found = await services.accounts
        .openSession({ ...lookup, projectId, requestId }, withProject(projectId))
        .catch(publicLookupError(type))
      const { account, session, isUsable } = readFound(found)
      const data = {
        request_id: requestId,
        version,
        lookup: { type, value_masked: valueMasked },
        account: renderAccount(account, isUsable),
        session: session === undefined ? null : renderSession(session),
        ...(isUsable ? {} : { resolution: { usable: false, reason_code: 'ACCOUNT_UNAVAILABLE' } }),
      }
      const message = isUsable ? 'Account session created.' : 'The account is unavailable.'
      return { code: 200, message, fields: { data } }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/account/account',
    clientIpOnRequest: true,
    query: queryOfAccount,
    read: ({ query, originCountry }) => ({
      lookupType: LookupType.MOBILE,
      lookupValue: readQueriedPhone(query.mobile_number, originCountry),
      institutionName: query.institution_name,
      firstName: query.first_name,
      lastName: query.last_name,
      email: query.email ?? '',
    }),
    credential: { kind: 'none' },
    async operate(lookup, { services, projectId, countLookup }) {
      countLookup('session', `MOBILE ${lookup.lookupValue}`)
      const found = await services.accounts
        .openSession({ ...lookup, projectId }, withProject(projectId))
        .catch(toPublicError())
      const { session, isUsable } = readFound(found)
      const fields = {
        account_status: isUsable ? 'available' : 'unavailable',
        session_token: session?.sessionToken ?? null,
      }
      const message = isUsable ? 'Account status retrieved.' : 'The account is unavailable.'
      return { code: 200, message, fields }
    },
  }),
]

const lookupTypes = {
  MOBILE: LookupType.MOBILE,
  EMAIL: LookupType.EMAIL,
  ACCOUNT_NUMBER: LookupType.ACCOUNT_NUMBER,
}

function readLookup({ body, originCountry }: Input<unknown, SessionBody>) {
  const { lookup_type: type, lookup_value: value } = body
  if (type === 'EMAIL' && !/^[^\s@]+@[^\s@]+$/.test(value)) {
    throw invalidField('lookup_value', 'must be an e-mail address')
  }
  const lookup = {
    lookupType: lookupTypes[type],
    lookupValue: type === 'MOBILE' ? readPhone(value, originCountry, 'lookup_value') : value,
    institutionName: body.institution_name ?? '',
    firstName: body.first_name ?? '',
    lastName: body.last_name ?? '',
    email: body.email ?? '',
    fingerprint: fingerprint(fingerprinted(body)),
  }
  // As accounts compares it: another spelling of an address is the same look-up.
  const comparedValue = type === 'EMAIL' ? normalizeEmail(value) : lookup.lookupValue
  return { lookup, type, comparedValue, valueMasked: maskLookup(type, value) }
}

/** Refusals of a look-up say what was looked up, and how to distinguish several accounts. */
function publicLookupError(type: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Failure)) throw error
    const { reason } = error
    const details = { lookup_type: type }
    if (reason === 'AMBIGUOUS_MATCH') {
      const message =
        'Several accounts match; use the email key: lookup_type EMAIL, or the email field beside the value.'
      throw new Failure(reason, message, { details, cause: error })
    }
    if (reason === 'ACCOUNT_NOT_FOUND' || reason === 'REQUEST_ID_REUSED') {
      throw refusal(reason, details)
    }
    return toPublicError()(error)
  }
}

type Found = { account: Account; session: Session | undefined; isUsable: boolean }

function readFound({ account, session }: OpenSessionResponse): Found {
  if (account === undefined) throw refusal('INTERNAL_ERROR')
  return { account, session, isUsable: session !== undefined }
}

function renderAccount(account: Account, isUsable: boolean) {
  return {
    account_status: isUsable ? 'available' : 'unavailable',
    account_number: account.accountNumber === '' ? null : account.accountNumber,
    account_type: account.accountType,
    display_name: `${account.firstName} ${account.lastName}`,
    country: account.country,
  }
}

function renderSession(session: Session) {
  if (session.expireTime === undefined) throw refusal('INTERNAL_ERROR')
  return {
    session_token: session.sessionToken,
    expires_at: formatIso(timestampDate(session.expireTime)),
    ttl_seconds: session.ttlSeconds,
    single_use: session.singleUse,
  }
}
