// Maps payweave.accounts.v1.AccountsService to the domain and back.

import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { invalid } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import {
  type AccountsService,
  type PersonalAccountProfile,
  type ResolveSessionRequest,
  type UploadPersonalAccountRequest,
  SessionState as WireSessionState,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { microsOfTimestamp } from '#platform/rpc/timestamps.ts'
import type { Account } from '../domain/account.ts'
import { createBusinessAccount } from '../operations/business.ts'
import { type Customers } from '../operations/customers.ts'
import { getBalance, listTransactions } from '../operations/history.ts'
import { createPersonalAccount } from '../operations/onboarding.ts'
import type { Profile } from '../operations/profile.ts'
import { registerAccount } from '../operations/registration.ts'
import {
  openSession,
  type SessionQuery,
  type SessionState,
  sessionInvalid,
  sessionResolver,
} from '../operations/session.ts'
import { batchingOpenings } from '../operations/session-batching.ts'
import {
  accountMessage,
  lookupTypes,
  roomMessage,
  sessionMessage,
  transactionMessage,
} from './messages.ts'
import { type UploadPart, uploadPersonalAccount } from './upload.ts'

const sessionStates = {
  live: WireSessionState.LIVE,
  spent: WireSessionState.SPENT,
  expired: WireSessionState.EXPIRED,
} as const satisfies Record<SessionState, WireSessionState>

/**
 * The handlers of AccountsService. All reject as `projectOf` does; bad fields are INVALID_PARAMETER or
 * MISSING_PARAMETER.
 *
 * `openSession`: ACCOUNT_NOT_FOUND, AMBIGUOUS_MATCH, REQUEST_ID_REUSED. `resolveSession`: SESSION_INVALID.
 * `registerAccount`: SESSION_INVALID, SESSION_EXPIRED, ACCOUNT_UNAVAILABLE. The personal accounts: ACCOUNT_EXISTS; an
 * upload also PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE. Balance and list: ACCOUNT_NOT_FOUND, AMBIGUOUS_MATCH.
 */
export function accountsService(customers: Customers): ServiceImpl<typeof AccountsService> {
  return { ...sessions(customers), ...makers(customers), ...readers(customers) }
}

function sessions(customers: Customers) {
  const openRow = batchingOpenings(customers.db)
  const resolveSession = sessionResolver(customers)
  return {
    async openSession(request, context) {
      const projectId = projectOf(context, request.projectId)
      const lookupType = lookupTypes[request.lookupType]
      if (lookupType === undefined) throw invalid('lookup_type', 'is not one that we know')
      const fingerprint = Buffer.from(request.fingerprint)
      const lookup = { ...request, projectId, lookupType, fingerprint }
      const { account, session } = await openSession(customers, lookup, openRow)
      return {
        account: accountMessage(account),
        ...(session !== undefined && { session: sessionMessage(session) }),
      }
    },
    async resolveSession(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { institutionName, references } = request
      const token = tokenOf(request)
      const { userLimits } = customers.settings
      const limits = request.withLimitRoom ? userLimits : undefined
      const query = { projectId, institutionName, token, references, limits }
      const found = await resolveSession(query)
      return {
        sessionId: found.sessionId,
        tokenHash: found.tokenHash,
        state: sessionStates[found.state],
        account: accountMessage(found.account),
        references: found.references.map(({ account, ambiguous }) => ({
          ...maybeAccount(account),
          ambiguous,
        })),
        limitCurrency: userLimits.currency,
        ...(found.room && { limitRoom: roomMessage(found.room, userLimits.currency) }),
      }
    },
    async registerAccount(request, context) {
      const projectId = projectOf(context, request.projectId)
      const wanted = { ...request, projectId, requestId: requestIdOf(request.requestId) }
      const { challengeId, expireTime } = await registerAccount(customers, resolveSession, wanted)
      return { challengeId, expireTime: timestampFromDate(expireTime) }
    },
  } satisfies Partial<ServiceImpl<typeof AccountsService>>
}

function makers(customers: Customers) {
  return {
    async createPersonalAccount({ projectId: requested, requestId, profile: wire }, context) {
      const sender = {
        projectId: projectOf(context, requested),
        requestId: requestIdOf(requestId),
      }
      if (wire === undefined) throw invalid('profile', 'is required')
      const profile = profileOf(wire)
      const account = await createPersonalAccount(customers, sender, profile)
      return { account: accountMessage(account), mobileNumberAsSent: profile.mobileNumberAsSent }
    },
    async uploadPersonalAccount(requests, context) {
      const parts = uploadParts(requests, context)
      const { account, profile } = await uploadPersonalAccount(customers, parts)
      return { account: accountMessage(account), mobileNumberAsSent: profile.mobileNumberAsSent }
    },
    async createBusinessAccount(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { caller, requestId } = currentContext() ?? {}
      const actor = { caller: caller?.name ?? 'unknown', requestId }
      return createBusinessAccount(customers, actor, { ...request, projectId })
    },
  } satisfies Partial<ServiceImpl<typeof AccountsService>>
}

function readers(customers: Customers) {
  return {
    async getAccountBalance({ projectId: requested, mobileNumber }, context) {
      const projectId = projectOf(context, requested)
      const { account, balance } = await getBalance(customers, { projectId, mobileNumber })
      const { postedMinor, heldMinor, asOf } = balance
      const money = (minorUnits: bigint) => ({ currency: account.currency, minorUnits })
      return {
        account: accountMessage(account),
        currentBalance: money(postedMinor),
        availableBalance: money(postedMinor - heldMinor),
        reservedBalance: money(heldMinor),
        // Always zero: incoming money is posted only when it may be used.
        unclearedBalance: money(0n),
        asOfTime: timestampFromDate(asOf),
      }
    },
    async listAccountTransactions(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { mobileNumber, pageSize, pageToken } = request
      const { transactions, nextPageToken } = await listTransactions(customers, {
        projectId,
        mobileNumber,
        startUs: microsOf(request.startTime),
        endUs: microsOf(request.endTime),
        pageSize,
        pageToken,
      })
      return { transactions: transactions.map(transactionMessage), nextPageToken }
    },
  } satisfies Partial<ServiceImpl<typeof AccountsService>>
}

function tokenOf({ token }: ResolveSessionRequest): SessionQuery['token'] {
  if (token.case === 'sessionToken') return { plain: token.value }
  if (token.case === 'sessionTokenSealed') return { sealed: token.value }
  throw sessionInvalid()
}

function maybeAccount(account: Account | undefined) {
  return account === undefined ? {} : { account: accountMessage(account) }
}

/** The request id that a callback shows: the caller's, or the call's own. */
function requestIdOf(requestId: string): string {
  if (requestId !== '') return requestId
  return currentContext()?.requestId ?? randomId()
}

function microsOf(timestamp: Timestamp | undefined): bigint | undefined {
  return timestamp === undefined ? undefined : microsOfTimestamp(timestamp)
}

function profileOf(wire: PersonalAccountProfile): Profile {
  return {
    firstName: wire.firstName,
    lastName: wire.lastName,
    email: wire.email,
    mobileNumber: wire.mobileNumber,
    mobileNumberAsSent: wire.mobileNumberAsSent || wire.mobileNumber,
    institutionName: wire.institutionName,
    callbackUrl: wire.callbackUrl,
    authorisationToken: wire.authorisationToken,
    details: wire.details,
    originCountry: wire.originCountry,
  }
}

async function* uploadParts(
  requests: AsyncIterable<UploadPersonalAccountRequest>,
  context: HandlerContext,
): AsyncGenerator<UploadPart> {
  for await (const { part } of requests) {
    if (part.case === 'header') {
      const { projectId: requested, requestId } = part.value
      const projectId = projectOf(context, requested)
      yield { header: { projectId, requestId: requestIdOf(requestId) } }
    } else if (part.case === 'artefact') {
      yield { artefact: part.value }
    } else if (part.case === 'chunk') {
      yield { chunk: part.value }
    } else if (part.case === 'profile') {
      yield { profile: profileOf(part.value) }
    } else throw invalid('part', 'is required')
  }
}
