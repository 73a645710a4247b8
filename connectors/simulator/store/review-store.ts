// Statements on reviews and consents.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Artefact, ConsentAnswer, ReviewVerdict } from '../domain/review.ts'

/** A profile to store. */
export type NewReview = {
  reviewId: string
  institutionName: string
  mobileNumber: string
  artefacts: Artefact[]
  /** Until it is decided; undefined: it never is. */
  decideAfterMs: number | undefined
}

const insertReviewStatement = sql(
  'insert_review',
  `insert into review (review_id, institution_name, mobile_number, artefacts, decide_at)
   values ($1, $2, $3, $4, clock_now() + $5::integer * interval '1 millisecond')
   on conflict (review_id) do nothing`,
)
/** Stores a profile; does nothing when it is known. */
export async function insertReview(db: Queryable, review: NewReview): Promise<void> {
  await db.run(insertReviewStatement, [
    review.reviewId,
    review.institutionName,
    review.mobileNumber,
    JSON.stringify(review.artefacts),
    review.decideAfterMs,
  ])
}

/** A profile to decide. */
export type DueReview = {
  reviewId: string
  mobileNumber: string
  artefacts: Artefact[]
  /** Times that it was claimed, this time included. */
  tries: number
}

const claimReviewsStatement = sql(
  'claim_reviews',
  `update review r set tries = r.tries + 1,
     decide_at = clock_now() + $2 * interval '1 millisecond'
   from (
     select review_id from review where decide_at <= clock_now()
     order by decide_at limit $1 for update skip locked
   ) due where r.review_id = due.review_id
   returning r.review_id as "reviewId", r.mobile_number as "mobileNumber", r.artefacts, r.tries`,
)
/** Takes profiles that are due, and keeps others from them for a while. */
export function claimReviews(db: Queryable, limit: number, leaseMs: number): Promise<DueReview[]> {
  return db.rows(claimReviewsStatement, [limit, leaseMs])
}

const endReviewStatement = sql(
  'end_review',
  `with ended as (
     update review set state = $2, account_level = $3, reason = $4, decided_at = clock_now(),
       decide_at = null
     where review_id = $1 and state = 'open'
     returning review_id, state, account_level, reason
   )
   insert into report (subject_id, position, kind, outcome, account_level, reason)
   select review_id, 1, 'onboarding', state, account_level, reason from ended`,
)
/** Ends an open review and inserts the report to accounts; does nothing to one that has ended. */
export async function endReview(
  db: Queryable,
  reviewId: string,
  verdict: ReviewVerdict,
): Promise<void> {
  const isCompleted = verdict.outcome === 'completed'
  const level = isCompleted ? verdict.accountLevel : null
  const reason = isCompleted ? null : verdict.reason
  await db.run(endReviewStatement, [reviewId, verdict.outcome, level, reason])
}

const postponeReviewStatement = sql(
  'postpone_review',
  `update review set decide_at = clock_now() + $2 * interval '1 millisecond'
   where review_id = $1 and state = 'open'`,
)
/** Postpones an open review. */
export async function postponeReview(
  db: Queryable,
  reviewId: string,
  delayMs: number,
): Promise<void> {
  await db.run(postponeReviewStatement, [reviewId, delayMs])
}

const waitForNextReviewStatement = sql(
  'wait_for_next_review',
  `select greatest(0, ceil(extract(epoch from decide_at - clock_now()) * 1000))::int as "waitMs"
   from review where decide_at is not null order by decide_at limit 1`,
)
/** Milliseconds until a profile is due; undefined when none is planned. */
export async function waitForNextReview(db: Queryable): Promise<number | undefined> {
  return (await db.row<{ waitMs: number }>(waitForNextReviewStatement, []))?.waitMs
}

/** A challenge to store, with what its holder will say. */
export type NewConsent = {
  challengeId: string
  institutionName: string
  mobileNumber: string
  clientName: string
  expireTime: Date
  answer: ConsentAnswer
  answerAfterMs: number
}

const insertConsentStatement = sql(
  'insert_consent',
  `insert into consent (challenge_id, institution_name, mobile_number, client_name, expire_time,
     answer, answer_at)
   values ($1, $2, $3, $4, $5, $6, clock_now() + $7::integer * interval '1 millisecond')
   on conflict (challenge_id) do nothing`,
)
/** Stores a challenge; does nothing when it is known. */
export async function insertConsent(db: Queryable, consent: NewConsent): Promise<void> {
  await db.run(insertConsentStatement, [
    consent.challengeId,
    consent.institutionName,
    consent.mobileNumber,
    consent.clientName,
    consent.expireTime,
    consent.answer,
    consent.answerAfterMs,
  ])
}

const answerConsentsStatement = sql(
  'answer_consents',
  `with due as (
     select challenge_id from consent where state = 'asked' and answer_at <= clock_now()
     order by answer_at limit $1 for update skip locked
   ), ended as (
     update consent c
     set state = case when c.expire_time <= clock_now() then 'lapsed' else c.answer end
     from due where c.challenge_id = due.challenge_id
     returning c.challenge_id, c.state
   ), owed as (
     insert into report (subject_id, position, kind, outcome)
     select challenge_id, 1, 'consent', state from ended where state <> 'lapsed'
   )
   select count(*)::int as ended from ended`,
)
/**
 * Answers challenges that are due and inserts the reports to accounts; an expired one stays unanswered.
 * Returns how many ended. Locks their rows.
 */
export async function answerConsents(db: Queryable, limit: number): Promise<number> {
  return (await db.row<{ ended: number }>(answerConsentsStatement, [limit]))?.ended ?? 0
}

const waitForNextAnswerStatement = sql(
  'wait_for_next_answer',
  `select greatest(0, ceil(extract(epoch from answer_at - clock_now()) * 1000))::int as "waitMs"
   from consent where state = 'asked' order by answer_at limit 1`,
)
/** Milliseconds until a challenge is answered; undefined when none is open. */
export async function waitForNextAnswer(db: Queryable): Promise<number | undefined> {
  return (await db.row<{ waitMs: number }>(waitForNextAnswerStatement, []))?.waitMs
}
