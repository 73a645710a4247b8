// Workers of billing: enquire about open payments, and post outcomes to the ledger. None calls a biller to pay.
import { Failure } from '#core/errors/errors.ts'
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Bill, BillerAnswer } from '../domain/bill.ts'
import { giveUp } from '../operations/abandon.ts'
import { writeOutcome } from '../operations/outcome.ts'
import type { Billing } from '../operations/pay.ts'
import { abandonEnded } from '../store/abandoned-store.ts'
import { claimDueBills } from '../store/bill-store.ts'
import {
  claimUnpostedOutcomes,
  markPosted,
  postponePosting,
  type UnpostedOutcome,
} from '../store/outcome-posting-store.ts'

const batchSize = 50
const width = 8
// Payments under way stand in the same queue for the row of their float: with fewer the ledger falls behind them.
const posting = { batchSize: 128, width: 32 }
const pauseMs = 250
const idlePauseMs = 1_000
// Longer than the calls about one payment may take.
const leaseMs = 60_000

/** Asks the back end about payments without an answer, and about those whose caller died. */
export function startEnquiries(billing: Billing): Loop {
  const { db, log } = billing
  return startLoop({
    kind: 'enquiries',
    log,
    pauseMs,
    idlePauseMs,
    async round() {
      const leaseToken = billing.issueToken()
      const bills = await claimDueBills(db, batchSize, leaseToken, leaseMs)
      await forEachOf(bills, { width, kind: 'enquiry', log }, (bill) =>
        resolveUnknownOutcome(billing, bill, leaseToken),
      )
      if (bills.length > 0) billing.notifyOutcomes()
      return bills.length === batchSize
    },
  })
}

/** Enquires first: the back end permanently refuses an id that it has reported as unknown, so the answer stays true. */
async function resolveUnknownOutcome(
  billing: Billing,
  bill: Bill,
  leaseToken: string,
): Promise<void> {
  const answer = await enquire(billing, bill)
  // It was never executed and never will be, and no client has a payment of that claim: the same call may be made again.
  if (bill.state === 'claimed' && answer.state === 'not_found') {
    return giveUp(billing, bill, leaseToken, 'unknown')
  }
  await writeOutcome(billing, bill, leaseToken, answer)
}

async function enquire({ billers, log }: Billing, bill: Bill): Promise<BillerAnswer> {
  try {
    return await billers.enquire(bill.billPaymentId)
  } catch (error) {
    log.warn({ err: error, kind: 'enquiry', attempts: bill.enquiries }, 'back end did not answer')
    return { state: 'unclear' }
  }
}

/** Posts outcomes to the ledger and retries until it accepts. */
export function startOutcomePosting(billing: Billing): Loop {
  const { db, log } = billing
  return startLoop({
    kind: 'outcome posting',
    log,
    pauseMs,
    idlePauseMs,
    async round() {
      const ends = await claimUnpostedOutcomes(db, posting.batchSize, leaseMs)
      const posted: string[] = []
      await forEachOf(ends, { width: posting.width, kind: 'outcome posting', log }, async (end) => {
        if (await postOutcome(billing, end)) posted.push(end.billPaymentId)
      })
      if (posted.length > 0) await markPosted(db, posted)
      return ends.length === posting.batchSize
    },
  })
}

/** True once it knows. */
async function postOutcome(billing: Billing, end: UnpostedOutcome): Promise<boolean> {
  const { db, ledger, log } = billing
  try {
    await (end.succeeded ? ledger.post(end) : ledger.release(end))
    return true
  } catch (error) {
    if (!end.succeeded && error instanceof Failure && error.reason === 'HOLD_NOT_FOUND') {
      // Its process died before it placed the hold, and the back end could not be asked until later.
      await abandonEnded(db, end.billPaymentId)
      billing.notifyReleasing()
      return false
    }
    log.warn({ err: error, kind: 'outcome posting', attempts: end.attempts }, 'outcome not posted')
    await postponePosting(db, end.billPaymentId)
    return false
  }
}
