// Asks holders for consent that a project act for them, and records their answers.
import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { sealAtRest } from '../../access/domain/at-rest.ts'
import { normalizeName } from '../domain/normalize.ts'
import {
  type ChallengeState,
  endChallenge,
  insertChallenge,
  lockChallenge,
} from '../store/challenge-store.ts'
import { callBack } from './call-back.ts'
import { type Customers, requireCallbackUrl } from './customers.ts'
import { type ResolveSession, sessionInvalid } from './session.ts'

/** What a client sends to register an account. */
export type Registration = {
  projectId: string
  requestId: string
  mobileNumber: string
  mobileNumberAsSent: string
  institutionName: string
  firstName: string
  lastName: string
  sessionToken: string
  authorisationToken: string
  callbackUrl: string
}

/**
 * Challenges the holder. SESSION_INVALID unless the token is a session of the very account that the rest of
 * the request describes, SESSION_EXPIRED when it has run out, ACCOUNT_UNAVAILABLE when the account is suspended or closed.
 */
export async function registerAccount(
  customers: Customers,
  resolveSession: ResolveSession,
  wanted: Registration,
): Promise<{ challengeId: string; expireTime: Date }> {
  requireCallbackUrl(wanted.callbackUrl, customers.settings)
  const { projectId, institutionName } = wanted
  const { state, account } = await resolveSession({
    projectId,
    institutionName,
    token: { plain: wanted.sessionToken },
    references: [],
  })
  const isOfHolder =
    account.mobileNumber === wanted.mobileNumber &&
    normalizeName(account.firstName) === normalizeName(wanted.firstName) &&
    normalizeName(account.lastName) === normalizeName(wanted.lastName)
  if (!isOfHolder || state === 'spent') throw sessionInvalid()
  if (state === 'expired') throw new Failure('SESSION_EXPIRED', 'the session has expired')
  if (account.status !== 'available') {
    throw new Failure('ACCOUNT_UNAVAILABLE', 'the account is suspended or closed')
  }
  const { db, secrets, settings } = customers
  const token = Buffer.from(wanted.authorisationToken)
  const challengeId = randomId()
  const cell = { column: 'challenge.authorisation_token_sealed', rowId: challengeId } as const
  const expireTime = await insertChallenge(db, {
    challengeId,
    projectId,
    institutionId: account.institutionId,
    accountId: account.accountId,
    requestId: wanted.requestId,
    mobileNumberAsSent: wanted.mobileNumberAsSent || wanted.mobileNumber,
    callbackUrl: wanted.callbackUrl,
    authorisationTokenSealed: sealAtRest(secrets, cell, token),
    ttlS: settings.challengeTtlS,
  })
  customers.notify()
  return { challengeId, expireTime }
}

/** Takes the holder's answer in; the first one stands, and one that comes too late changes nothing. REVIEW_NOT_FOUND. */
export async function reportConsent(
  customers: Customers,
  challengeId: string,
  answer: 'approved' | 'rejected',
): Promise<void> {
  const isKnown = await closeChallenge(customers, challengeId, answer)
  if (!isKnown) throw new Failure('REVIEW_NOT_FOUND', 'there is no such challenge')
}

/** Expires an unanswered challenge, as a refusal. */
export async function expireChallenge(customers: Customers, challengeId: string): Promise<void> {
  await closeChallenge(customers, challengeId, 'lapsed')
}

/** False when there is no such challenge. */
async function closeChallenge(
  customers: Customers,
  challengeId: string,
  wanted: Exclude<ChallengeState, 'open'>,
): Promise<boolean> {
  const isKnown = await customers.db.transaction(async (tx) => {
    const challenge = await lockChallenge(tx, challengeId)
    if (challenge === undefined) return false
    const { state, overdue, account } = challenge
    if (state !== 'open' || overdue !== (wanted === 'lapsed')) return true
    await endChallenge(tx, challengeId, wanted)
    const approved = wanted === 'approved'
    const ended = { rowId: challengeId, of: challenge, account }
    await callBack(customers, tx, { ...ended, kind: 'registration', approved })
    return true
  })
  customers.notify()
  return isKnown
}
