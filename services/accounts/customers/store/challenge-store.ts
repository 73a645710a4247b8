// Statements on challenges, which ask account holders whether a project may act for them.

import { type Queryable, sql } from '#platform/db/db.ts'
import type { Account } from '../domain/account.ts'
import type { ConsentRequest } from '../domain/review.ts'
import { accountColumns } from './account-store.ts'
import { callbackAndAccount, callbackColumns, type OnboardingCallback } from './review-store.ts'

/** State of a challenge; `lapsed` means that it expired without a response, which refuses it. */
export type ChallengeState = 'open' | 'approved' | 'rejected' | 'lapsed'

/** A challenge to insert. */
export type NewChallenge = {
  challengeId: string
  projectId: string
  institutionId: string
  accountId: string
  requestId: string
  mobileNumberAsSent: string
  callbackUrl: string
  authorisationTokenSealed: string
  ttlS: number
}

const insertStatement = sql(
  'challenge_insert',
  `with made as (
     insert into challenge
       (challenge_id, project_id, institution_id, account_id, request_id, mobile_number_as_sent,
        callback_url, authorisation_token_sealed, expire_time)
     values ($1, $2, $3, $4, $5, $6, $7, $8, business_now() + $9 * interval '1 s')
     returning challenge_id, expire_time
   ), asked as (
     insert into backend_task (subject_id, kind) select challenge_id, 'request_consent' from made
   )
   select expire_time as "expireTime" from made`,
)

/** Inserts a challenge and the task to submit it; returns when it expires. */
export async function insertChallenge(db: Queryable, challenge: NewChallenge): Promise<Date> {
  const row = await db.row<{ expireTime: Date }>(insertStatement, [
    challenge.challengeId,
    challenge.projectId,
    challenge.institutionId,
    challenge.accountId,
    challenge.requestId,
    challenge.mobileNumberAsSent,
    challenge.callbackUrl,
    challenge.authorisationTokenSealed,
    challenge.ttlS,
  ])
  if (row === undefined) throw new Error('an insert answered nothing')
  return row.expireTime
}

/** A challenge with its account. */
export type Challenge = OnboardingCallback & {
  state: ChallengeState
  overdue: boolean
  account: Account
}

type ChallengeRow = OnboardingCallback & { state: ChallengeState; overdue: boolean } & Account

const lockStatement = sql(
  'challenge_lock',
  `select c.state, c.expire_time <= business_now() as overdue, ${callbackColumns('c')},
     ${accountColumns}
   from challenge c
   join account a on a.account_id = c.account_id
   join institution i on i.institution_id = c.institution_id
   where c.challenge_id = $1 for update of c`,
)

/** Reads a challenge with its account and locks its row. */
export async function lockChallenge(
  tx: Queryable,
  challengeId: string,
): Promise<Challenge | undefined> {
  const row = await tx.row<ChallengeRow>(lockStatement, [challengeId])
  if (row === undefined) return undefined
  const { state, overdue, ...rest } = row
  return { state, overdue, ...callbackAndAccount(rest) }
}

const endStatement = sql(
  'challenge_end',
  `update challenge set state = $2, end_time = business_now(), authorisation_token_sealed = null
   where challenge_id = $1 and state = 'open'`,
)

/** Ends a challenge and forgets its token; the caller holds its lock. */
export async function endChallenge(
  tx: Queryable,
  challengeId: string,
  state: Exclude<ChallengeState, 'open'>,
): Promise<void> {
  if ((await tx.run(endStatement, [challengeId, state])) !== 1) {
    throw new Error('a locked challenge has ended meanwhile')
  }
}

const overdueStatement = sql(
  'challenge_overdue',
  `select challenge_id as "challengeId" from challenge
   where state = 'open' and expire_time <= business_now() order by expire_time limit $1`,
)

/** Finds expired challenges. Locks nothing. */
export async function findOverdueChallenges(db: Queryable, limit: number): Promise<string[]> {
  const rows = await db.rows<{ challengeId: string }>(overdueStatement, [limit])
  return rows.map(({ challengeId }) => challengeId)
}

const consentRequestStatement = sql(
  'challenge_consent_request',
  `select c.challenge_id as "challengeId", i.name as "institutionName",
     a.mobile_number as "mobileNumber", p.name as "clientName", c.expire_time as "expireTime"
   from challenge c
   join account a on a.account_id = c.account_id
   join institution i on i.institution_id = c.institution_id
   join project p on p.project_id = c.project_id
   where c.challenge_id = $1 and c.state = 'open' and c.expire_time > business_now()`,
)

/** Reads the consent request of a challenge; undefined when it is no longer open. Locks nothing. */
export function readConsentRequest(
  db: Queryable,
  challengeId: string,
): Promise<ConsentRequest | undefined> {
  return db.row(consentRequestStatement, [challengeId])
}
