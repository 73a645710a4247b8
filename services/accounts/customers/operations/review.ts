// Records the outcomes of reviews, of the back end and of people, and calls the client back.
import { randomInt } from 'node:crypto'
import { Failure, invalid } from '#core/errors/errors.ts'
import { isCurrency } from '#core/money/money.ts'
import { isUniqueViolation, type Queryable } from '#platform/db/db.ts'
import { openAtRest } from '../../access/domain/at-rest.ts'
import type { Actor } from '../../access/operations/change.ts'
import { insertAudit } from '../../access/store/project-store.ts'
import { openCustomerLedger } from '../../ledger/operations/ledger.ts'
import { type Account, type FundsAccess } from '../domain/account.ts'
import type { Submission } from '../domain/review.ts'
import {
  completeAccount,
  isNumberTaken,
  lockNumber,
  rejectAccount,
} from '../store/account-store.ts'
import { endReview, lockReview, type Review, readWantedNumber } from '../store/review-store.ts'
import { callBack } from './call-back.ts'
import { type Customers } from './customers.ts'

/** How a review ended. */
export type ReviewOutcome =
  | { completed: { level: number; fundsAccess: FundsAccess; currency: string } }
  | { rejected: { reason: string } }

/** The state of a review that has ended. */
export type EndedState = 'completed' | 'rejected'

/** A person who decides, and on what evidence. */
export type Decider = Pick<Actor, 'caller' | 'requestId'> & { reason: string }

const numberDigits = 10
const maxReason = 500

/**
 * Ends a review and returns how it ended; the first outcome stands and a repeat changes nothing. Of two reviews that end
 * well for one number, the second is rejected. With a decider, the audit has a line. REVIEW_NOT_FOUND.
 */
export async function endOnboarding(
  customers: Customers,
  reviewId: string,
  outcome: ReviewOutcome,
  decider?: Decider,
): Promise<EndedState> {
  checkOutcome(outcome)
  const wanted = await readWantedNumber(customers.db, reviewId)
  if (wanted === undefined) throw new Failure('REVIEW_NOT_FOUND', 'there is no such review')
  const { institutionId, mobileNumber } = wanted
  const state = await withFreshNumber((accountNumber) =>
    customers.db.transaction(async (tx) => {
      await lockNumber(tx, institutionId, mobileNumber)
      const review = await lockReview(tx, reviewId)
      if (review === undefined) throw new Error('a review has gone')
      if (review.state !== 'open') return review.state
      return await end(customers, tx, { reviewId, review, outcome, accountNumber, decider })
    }),
  )
  customers.notify()
  return state
}

/** The further facts of a profile. */
export function openDetails(
  { secrets }: Customers,
  { reviewId, detailsSealed }: Pick<Submission, 'reviewId' | 'detailsSealed'>,
): Record<string, string> {
  const cell = { column: 'review.details_sealed', rowId: reviewId } as const
  return JSON.parse(openAtRest(secrets, cell, detailsSealed).toString()) as Record<string, string>
}

function checkOutcome(outcome: ReviewOutcome): void {
  if ('rejected' in outcome) return
  const { currency } = outcome.completed
  if (currency !== '' && !isCurrency(currency))
    throw invalid('completed.currency', 'must be an ISO 4217 code')
}

/** Draws account numbers until one is free: with ten digits a second draw is rare. */
async function withFreshNumber<T>(work: (accountNumber: string) => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work(newAccountNumber())
    } catch (error) {
      if (!isUniqueViolation(error, 'account_number_once')) throw error
    }
  }
}

/** Ten random digits, the first above zero. */
function newAccountNumber(): string {
  const min = 10 ** (numberDigits - 1)
  return String(randomInt(min, min * 10))
}

type Ending = {
  reviewId: string
  review: Review
  outcome: ReviewOutcome
  accountNumber: string
  decider: Decider | undefined
}

async function end(
  customers: Customers,
  tx: Queryable,
  { reviewId, review, outcome, accountNumber, decider }: Ending,
): Promise<EndedState> {
  const { account } = review
  const reason = await reasonToReject(tx, account, outcome)
  let ended: Account
  if ('completed' in outcome && reason === undefined) {
    const { level, fundsAccess, currency: named } = outcome.completed
    const currency = named === '' ? account.currency : named
    const completion = { accountNumber, currency, level, fundsAccess }
    await completeAccount(tx, account.accountId, completion)
    await openCustomerLedger(tx, { accountId: account.accountId, currency })
    ended = { ...account, ...completion, status: 'available' }
  } else {
    await rejectAccount(tx, account.accountId)
    ended = { ...account, status: 'rejected' }
  }
  const state = ended.status === 'available' ? 'completed' : 'rejected'
  await endReview(tx, reviewId, state, reason ?? decider?.reason)
  if (decider !== undefined) {
    const { caller, requestId } = decider
    const { projectId } = review
    const action = 'decide_onboarding'
    const details = { decision: 'completed' in outcome ? 'completed' : 'rejected', state }
    await insertAudit(tx, { caller, requestId, action, projectId, targetId: reviewId, details })
  }
  await callBack(customers, tx, {
    kind: 'onboarding',
    rowId: reviewId,
    of: review,
    account: ended,
  })
  customers.metrics.reviewEnded(state)
  return state
}

/** Why an account is rejected; undefined when it is not. */
async function reasonToReject(
  tx: Queryable,
  { institutionId, mobileNumber }: Account,
  outcome: ReviewOutcome,
): Promise<string | undefined> {
  if ('rejected' in outcome) return outcome.rejected.reason.slice(0, maxReason)
  const taken = await isNumberTaken(tx, institutionId, mobileNumber)
  return taken ? 'an available account has the number' : undefined
}
