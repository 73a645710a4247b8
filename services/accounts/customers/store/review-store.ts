// Statements on reviews of profiles.

import { type Queryable, sql } from '#platform/db/db.ts'
import type { Account, AccountStatus } from '../domain/account.ts'
import type { Submission } from '../domain/review.ts'
import { accountColumns } from './account-store.ts'

/** State of a review. */
export type ReviewState = 'open' | 'completed' | 'rejected'

/** A review to be made. */
export type NewReview = {
  reviewId: string
  projectId: string
  institutionId: string
  accountId: string
  requestId: string
  mobileNumberAsSent: string
  detailsSealed: string
  callbackUrl: string | null
  authorisationTokenSealed: string | null
}

const insertStatement = sql(
  'review_insert',
  `with made as (
     insert into review
       (review_id, project_id, institution_id, account_id, request_id, mobile_number_as_sent,
        details_sealed, callback_url, authorisation_token_sealed)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning review_id
   )
   insert into backend_task (subject_id, kind) select review_id, 'submit_onboarding' from made`,
)

/** Inserts a review and the task to have it made. */
export async function insertReview(tx: Queryable, review: NewReview): Promise<void> {
  await tx.run(insertStatement, [
    review.reviewId,
    review.projectId,
    review.institutionId,
    review.accountId,
    review.requestId,
    review.mobileNumberAsSent,
    review.detailsSealed,
    review.callbackUrl,
    review.authorisationTokenSealed,
  ])
}

const wantedNumberStatement = sql(
  'review_wanted_number',
  `select a.institution_id as "institutionId", a.mobile_number as "mobileNumber"
   from review r join account a on a.account_id = r.account_id where r.review_id = $1`,
)

/** The number that a review's account wants to have; undefined for an unknown review. Locks nothing. */
export function readWantedNumber(
  db: Queryable,
  reviewId: string,
): Promise<{ institutionId: string; mobileNumber: string } | undefined> {
  return db.row(wantedNumberStatement, [reviewId])
}

/** The callback of what ended; none without a URL. */
export type OnboardingCallback = {
  projectId: string
  requestId: string
  mobileNumberAsSent: string
  callbackUrl: string | null
  authorisationTokenSealed: string | null
}

/** The columns of an OnboardingCallback, in SQL. */
export const callbackColumns = (table: 'r' | 'c') =>
  `${table}.project_id as "projectId", ${table}.request_id as "requestId",
     ${table}.mobile_number_as_sent as "mobileNumberAsSent", ${table}.callback_url as "callbackUrl",
     ${table}.authorisation_token_sealed as "authorisationTokenSealed"`

/** The callback and the account of a row with the columns of both. */
export function callbackAndAccount({
  projectId,
  requestId,
  mobileNumberAsSent,
  callbackUrl,
  authorisationTokenSealed,
  ...account
}: OnboardingCallback & Account): OnboardingCallback & { account: Account } {
  const callback = { projectId, requestId, mobileNumberAsSent, callbackUrl }
  return { ...callback, authorisationTokenSealed, account }
}

/** A review with its account. */
export type Review = OnboardingCallback & { state: ReviewState; account: Account }

type ReviewRow = OnboardingCallback & { state: ReviewState } & Account

const lockStatement = sql(
  'review_lock',
  `select r.state, ${callbackColumns('r')}, ${accountColumns}
   from review r
   join account a on a.account_id = r.account_id
   join institution i on i.institution_id = r.institution_id
   where r.review_id = $1 for update of r`,
)

/** Reads a review with its account and locks its row. */
export async function lockReview(tx: Queryable, reviewId: string): Promise<Review | undefined> {
  const row = await tx.row<ReviewRow>(lockStatement, [reviewId])
  if (row === undefined) return undefined
  const { state, ...rest } = row
  return { state, ...callbackAndAccount(rest) }
}

const endStatement = sql(
  'review_end',
  `update review set state = $2, reason = $3, end_time = business_now(),
     authorisation_token_sealed = null
   where review_id = $1 and state = 'open'`,
)

/** Ends a review and forgets its token; the caller holds its lock. */
export async function endReview(
  tx: Queryable,
  reviewId: string,
  state: Exclude<ReviewState, 'open'>,
  reason: string | undefined,
): Promise<void> {
  if ((await tx.run(endStatement, [reviewId, state, reason ?? null])) !== 1) {
    throw new Error('a locked review has ended meanwhile')
  }
}

const submissionStatement = sql(
  'review_submission',
  `select r.review_id as "reviewId", i.name as "institutionName", a.first_name as "firstName",
     a.last_name as "lastName", a.email, a.mobile_number as "mobileNumber",
     r.details_sealed as "detailsSealed"
   from review r
   join account a on a.account_id = r.account_id
   join institution i on i.institution_id = r.institution_id
   where r.review_id = $1 and r.state = 'open'`,
)

/** Reads what is to be reviewed; undefined when the review has ended. Locks nothing. */
export function readSubmission(db: Queryable, reviewId: string): Promise<Submission | undefined> {
  return db.row(submissionStatement, [reviewId])
}

/** An open review as the staff sees it. */
export type OpenReview = Submission & {
  projectId: string
  createTime: Date
  /** Whether an available account of the institution has the number. */
  numberTaken: boolean
}

const openReview = `select r.review_id as "reviewId", r.project_id as "projectId",
     i.name as "institutionName", a.first_name as "firstName", a.last_name as "lastName",
     coalesce(a.email, '') as email, a.mobile_number as "mobileNumber",
     r.details_sealed as "detailsSealed", r.create_time as "createTime",
     exists (select 1 from account other
       where other.institution_id = a.institution_id and other.mobile_number = a.mobile_number
         and other.status = 'available') as "numberTaken"
   from review r
   join account a on a.account_id = r.account_id
   join institution i on i.institution_id = r.institution_id
   where r.state = 'open'`

const listOpenStatement = sql(
  'review_list_open',
  `${openReview} and (r.create_time, r.review_id) > (
     coalesce((select create_time from review where review_id = $1), '-infinity'),
     coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid))
   order by r.create_time, r.review_id limit $2`,
)

/** Open reviews, oldest first; `afterId`: behind this one. Locks nothing. */
export function listOpenReviews(
  db: Queryable,
  afterId: string | undefined,
  limit: number,
): Promise<OpenReview[]> {
  return db.rows(listOpenStatement, [afterId ?? null, limit])
}

const findOpenStatement = sql('review_find_open', `${openReview} and r.review_id = $1`)

/** An open review; undefined for one that is unknown or has ended. Locks nothing. */
export function findOpenReview(db: Queryable, reviewId: string): Promise<OpenReview | undefined> {
  return db.row(findOpenStatement, [reviewId])
}

/** Another account of the institution with the number or the e-mail address of a profile; with its review while that is open. */
export type Duplicate = {
  accountId: string
  reviewId: string
  status: AccountStatus
  accountNumber: string
  firstName: string
  lastName: string
  email: string
  mobileNumber: string
  createTime: Date
}

// Accounts are found by their indexes, each of which leaves out open and rejected profiles; the open ones by their reviews.
const decided = `d.status in ('available', 'suspended', 'closed')`
const duplicatesStatement = sql(
  'review_duplicates',
  `with own as (
     select a.* from review r join account a on a.account_id = r.account_id where r.review_id = $1
   ), found as (
     select d.account_id, null::uuid as review_id from own
       join account d on d.institution_id = own.institution_id
         and d.mobile_number = own.mobile_number and ${decided}
     union
     select d.account_id, null from own
       join account d on d.institution_id = own.institution_id
         and d.email_folded = own.email_folded and own.email_folded <> '' and ${decided}
     union
     select d.account_id, r.review_id from own
       join review r on r.state = 'open' and r.institution_id = own.institution_id
       join account d on d.account_id = r.account_id and d.account_id <> own.account_id
         and (d.mobile_number = own.mobile_number
           or d.email_folded = own.email_folded and own.email_folded <> '')
   )
   select a.account_id as "accountId", coalesce(f.review_id::text, '') as "reviewId", a.status,
     coalesce(a.account_number, '') as "accountNumber", a.first_name as "firstName",
     a.last_name as "lastName", a.email, a.mobile_number as "mobileNumber",
     a.create_time as "createTime"
   from found f join account a on a.account_id = f.account_id
   order by a.create_time, a.account_id limit $2`,
)

/** Others with the number or the e-mail address of a profile, oldest first; without rejected ones. Locks nothing. */
export function findDuplicates(
  db: Queryable,
  reviewId: string,
  limit: number,
): Promise<Duplicate[]> {
  return db.rows(duplicatesStatement, [reviewId, limit])
}
