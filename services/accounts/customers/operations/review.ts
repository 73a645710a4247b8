// Records the outcomes of reviews and calls the client back.
import { randomInt } from 'node:crypto'
import { Failure, invalid } from '#core/errors/errors.ts'
import { isCurrency } from '#core/money/money.ts'
import { isUniqueViolation, type Queryable } from '#platform/db/db.ts'
import { openCustomerLedger } from '../../ledger/operations/ledger.ts'
import { type Account, type FundsAccess } from '../domain/account.ts'
import {
  completeAccount,
  isNumberTaken,
  lockNumber,
  rejectAccount,
} from '../store/account-store.ts'
import { endReview, lockReview, type Review, readReviewPlace } from '../store/review-store.ts'
import { callBack } from './call-back.ts'
import { type Customers } from './customers.ts'

/** How a review ended. */
export type ReviewOutcome =
  | { completed: { level: number; fundsAccess: FundsAccess; currency: string } }
  | { rejected: { reason: string } }

const numberDigits = 10
const maxReason = 500

/**
 * Ends a review; the first outcome stands and a repeat changes nothing. Of two reviews that end well for one number,
 * the second is rejected. REVIEW_NOT_FOUND.
 */
export async function reportOnboarding(
  customers: Customers,
  reviewId: string,
  outcome: ReviewOutcome,
): Promise<void> {
  checkOutcome(outcome)
  const place = await readReviewPlace(customers.db, reviewId)
  if (place === undefined) throw new Failure('REVIEW_NOT_FOUND', 'there is no such review')
  const { institutionId, mobileNumber } = place
  await withFreshNumber((accountNumber) =>
    customers.db.transaction(async (tx) => {
      await lockNumber(tx, institutionId, mobileNumber)
      const review = await lockReview(tx, reviewId)
      if (review?.state === 'open')
        await end(customers, tx, { reviewId, review, outcome, accountNumber })
    }),
  )
  customers.notify()
}

function checkOutcome(outcome: ReviewOutcome): void {
  if ('rejected' in outcome) return
  const { currency } = outcome.completed
  if (currency !== '' && !isCurrency(currency))
    throw invalid('completed.currency', 'must be an ISO 4217 code')
}

/** Draws account numbers until one is free: with ten digits a second draw is rare. */
async function withFreshNumber(work: (accountNumber: string) => Promise<void>): Promise<void> {
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
  const least = 10 ** (numberDigits - 1)
  return String(randomInt(least, least * 10))
}

type Ending = { reviewId: string; review: Review; outcome: ReviewOutcome; accountNumber: string }

async function end(
  customers: Customers,
  tx: Queryable,
  { reviewId, review, outcome, accountNumber }: Ending,
): Promise<void> {
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
  await endReview(tx, reviewId, state, reason)
  await callBack(customers, tx, {
    kind: 'onboarding',
    rowId: reviewId,
    of: review,
    account: ended,
  })
  customers.metrics.reviewEnded(state)
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
