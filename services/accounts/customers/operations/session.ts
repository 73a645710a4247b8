// Opens sessions for accounts and resolves tokens to sessions; never logs a token.

import { Failure, missing } from '#core/errors/errors.ts'
import { digestsEqual } from '#core/identity/digest.ts'
import { newId } from '#core/identity/id.ts'
import type { LimitRoom } from '#core/money/limit-room.ts'
import { normalizeEmail } from '#core/text/text.ts'
import type { UserLimits } from '#platform/config/values.ts'
import { openInstitutionKey } from '../../access/domain/credentials.ts'
import { roomWithin } from '../../ledger/domain/limits.ts'
import type { Account } from '../domain/account.ts'
import { normalizeName } from '../domain/normalize.ts'
import { openSessionToken, sealingKeyId, sessionToken, sessionTokenHash } from '../domain/token.ts'
import { findSealingKey, type Reference } from '../store/resolve-store.ts'
import {
  type LookupType,
  type MatchedAccount,
  readRequestedSession,
  readSessionAccount,
  type SessionRequest,
} from '../store/session-store.ts'
import { accountNotFound, ambiguousMatch, type Customers } from './customers.ts'
import {
  batchingSessions,
  type FindSession,
  type OpenRow,
  openingSession,
} from './session-batching.ts'

/** Whom a client looks for. */
export type Lookup = {
  projectId: string
  /** Empty: every call opens a new session. */
  requestId: string
  fingerprint: Buffer
  lookupType: LookupType
  lookupValue: string
  institutionName: string
  firstName: string
  lastName: string
  email: string
}

/** A session as its client gets it. */
export type Session = { sessionToken: string; expireTime: Date; ttlS: number; singleUse: boolean }

/** An account that was found; without a session when it is unavailable. */
export type Opened = { account: Account; session: Session | undefined }

/**
 * Looks an account up and opens a session for it, in one round trip unless the look-up is refused or its request
 * id was used before. ACCOUNT_NOT_FOUND, AMBIGUOUS_MATCH, REQUEST_ID_REUSED; SERVICE_UNAVAILABLE for a repeat whose key was
 * retired before its session ended.
 */
export async function openSession(
  customers: Customers,
  lookup: Lookup,
  openRow: OpenRow = openingSession(customers.db),
): Promise<Opened> {
  checkLookup(lookup)
  for (;;) {
    const { request, token } = newSession(customers, lookup)
    const matched = await openRow(request)
    const [first, second] = matched
    if (first?.expireTime) return opened(customers, first, token, first.expireTime)
    if (request.requestId !== undefined && first?.claimed !== true) {
      const repeat = await repeated(customers, lookup)
      if (repeat !== undefined) return repeat
      // The session of the first call ended between the two statements: its id is free again.
      if (first !== undefined && second === undefined) continue
    }
    const details = { lookup_type: lookup.lookupType }
    if (first === undefined) throw accountNotFound(details)
    if (second !== undefined) throw ambiguousMatch(details)
    return { account: first, session: undefined }
  }
}

function checkLookup(lookup: Lookup): void {
  if (lookup.requestId === '') return
  if (lookup.fingerprint.length === 0) throw missing('fingerprint')
}

/** A session to be opened, and its token, which is stored as a hash alone. */
function newSession(
  { sessionKeys, settings }: Customers,
  lookup: Lookup,
): { request: SessionRequest; token: string } {
  const { projectId, lookupType, lookupValue, institutionName, requestId, fingerprint } = lookup
  const sessionId = newId()
  const { keyId, key } = sessionKeys().current
  const token = sessionToken(key, sessionId)
  const request = {
    projectId,
    lookupType,
    lookupValue: lookupType === 'EMAIL' ? normalizeEmail(lookupValue) : lookupValue,
    institutionName,
    firstNameNormalized: compared(lookup.firstName, normalizeName),
    lastNameNormalized: compared(lookup.lastName, normalizeName),
    emailNormalized: compared(lookup.email, normalizeEmail),
    requestId: requestId === '' ? undefined : requestId.toLowerCase(),
    fingerprint,
    sessionId,
    tokenHash: sessionTokenHash(token),
    ttlS: settings.sessionTtlS,
    keyId,
  }
  return { request, token }
}

/** What a look-up compares; undefined, which fits nobody, when nothing of the text can be compared. */
function compared(text: string, normalize: (text: string) => string): string | undefined {
  return text === '' ? '' : normalize(text) || undefined
}

function opened(
  { settings, metrics }: Customers,
  account: MatchedAccount,
  token: string,
  expireTime: Date,
): Opened {
  metrics.sessionOpened()
  const session = {
    sessionToken: token,
    expireTime,
    ttlS: settings.sessionTtlS,
    singleUse: true,
  }
  return { account, session }
}

/** The answer that a request id was given before, while its session lives. */
async function repeated(
  { db, sessionKeys }: Customers,
  { projectId, requestId, fingerprint }: Lookup,
): Promise<Opened | undefined> {
  const before = await readRequestedSession(db, projectId, requestId)
  if (before === undefined) return undefined
  if (!digestsEqual(before.fingerprint, fingerprint)) {
    throw new Failure('REQUEST_ID_REUSED', 'the request id was used before with another body')
  }
  const { live, sessionId, expireTime, ttlS, keyId } = before
  if (!live || sessionId === null || ttlS === null) return undefined
  const account = await readSessionAccount(db, sessionId)
  if (account === undefined) throw accountNotFound()
  if (account.status !== 'available') return { account, session: undefined }
  const key = sessionKeys().find(keyId)
  // Retired without waiting for the sessions derived from it: none of them can be shown again.
  if (key === undefined) {
    throw new Failure('SERVICE_UNAVAILABLE', 'the session cannot be shown again until it has ended')
  }
  const token = sessionToken(key.key, sessionId)
  return { account, session: { sessionToken: token, expireTime, ttlS, singleUse: true } }
}

/** The current validity of a session. */
export type SessionState = 'live' | 'spent' | 'expired'

/** A token, plain or sealed, and what it must be bound to. */
export type SessionQuery = {
  projectId: string
  institutionName: string
  token: { plain: string } | { sealed: string }
  references: Reference[]
  /** To read what room the limits leave the session's account, in the same statement. */
  limits?: UserLimits | undefined
}

/** Result of resolving one reference. */
export type ReferencedAccount = { account: Account | undefined; ambiguous: boolean }

/** The session of a token. */
export type ResolvedSession = {
  sessionId: string
  tokenHash: Buffer
  state: SessionState
  account: Account
  references: ReferencedAccount[]
  /** Undefined unless it was asked for. */
  room: LimitRoom | undefined
}

/**
 * Resolves a token to its session. SESSION_INVALID, after the same one statement, for a token without a session of
 * this project at this institution.
 */
export type ResolveSession = (query: SessionQuery) => Promise<ResolvedSession>

const maxKeptKeys = 1_000

/**
 * Resolves sessions. Keys of institutions never change, so an opened one is kept; that it is still live is part of
 * the statement that reads the session.
 */
export function sessionResolver(
  { db, secrets }: Pick<Customers, 'db' | 'secrets'>,
  findSession: FindSession = batchingSessions(db),
): ResolveSession {
  const kept = new Map<string, Buffer>()

  async function sealingKey(query: SessionQuery, keyId: string): Promise<Buffer | undefined> {
    const known = kept.get(keyId)
    if (known !== undefined) return known
    const row = await findSealingKey(db, { ...query, keyId })
    if (row === undefined) return undefined
    const key = Buffer.from(openInstitutionKey(secrets, row).sharedKey, 'base64')
    if (kept.size >= maxKeptKeys) kept.clear()
    kept.set(keyId, key)
    return key
  }

  async function openToken(
    query: SessionQuery,
  ): Promise<{ token: string | undefined; keyId: string | undefined }> {
    if ('plain' in query.token) return { token: query.token.plain, keyId: undefined }
    const { sealed } = query.token
    const keyId = sealingKeyId(sealed)
    const key = keyId === undefined ? undefined : await sealingKey(query, keyId)
    if (keyId === undefined || key === undefined) return { token: undefined, keyId }
    return { token: openSessionToken(sealed, { keyId, key }), keyId }
  }

  return async (query) => {
    const { projectId, institutionName, references, limits } = query
    const { token, keyId } = await openToken(query)
    const tokenHash = sessionTokenHash(token)
    const rows = await findSession({
      tokenHash,
      projectId,
      institutionName,
      references,
      keyId,
      limitCurrency: limits?.currency,
    })
    const own = rows.find(({ position }) => position === 0)
    if (own === undefined) throw sessionInvalid()
    const { sessionId, spent, expired } = own
    const state = spent ? 'spent' : expired ? 'expired' : 'live'
    const found = references.map((_, index) => referenced(rows, index + 1))
    const room = limits && roomWithin(limits, own)
    return { sessionId, tokenHash, state, account: own, references: found, room }
  }
}

function referenced(rows: (Account & { position: number })[], wanted: number): ReferencedAccount {
  const [account, another] = rows.filter(({ position }) => position === wanted)
  if (another !== undefined) return { account: undefined, ambiguous: true }
  return { account, ambiguous: false }
}

/** The one refusal of every token that cannot be used. */
export function sessionInvalid(): Failure {
  return new Failure('SESSION_INVALID', 'the session token cannot be used here')
}
