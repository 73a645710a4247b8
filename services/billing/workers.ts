// What happens to bill payments without anybody calling: enquiries, and telling the ledger; it must not pay.
import { randomId } from '#core/id.ts'
import { forEachOf, type Loop, startLoop } from '#runtime/loop.ts'
import type { Bill, BillerAnswer } from './bill.ts'
import { dropClaim, takeDue } from './bill-store.ts'
import { writeOutcome } from './outcome.ts'
import type { Billing } from './pay.ts'
import { markSettled, settleLater, takeUnsettled, type Unsettled } from './settle-store.ts'

const batchSize = 50
const width = 8
// Payments under way stand in the same queue for the row of their float: with fewer the ledger falls behind them.
const settling = { batchSize: 128, width: 32 }
const pauseMs = 250
const idlePauseMs = 1_000
// Longer than the calls about one payment may take.
const leaseMs = 60_000

/** Asks the back end about payments that nobody answered for, and about those whose caller died. */
export function startEnquiries(billing: Billing): Loop {
  const { db, log } = billing
  return startLoop({
    kind: 'enquiries',
    log,
    pauseMs,
    idlePauseMs,
    async round() {
      const leaseToken = randomId()
      const bills = await takeDue(db, batchSize, leaseToken, leaseMs)
      await forEachOf(bills, { width, kind: 'enquiry', log }, (bill) =>
        settleDoubt(billing, bill, leaseToken),
      )
      if (bills.length > 0) billing.kickSettling()
      return bills.length === batchSize
    },
  })
}

/** The back end first: what it does not know by then it refuses for ever, so the answer stays true. */
async function settleDoubt(billing: Billing, bill: Bill, leaseToken: string): Promise<void> {
  const answer = await enquire(billing, bill)
  if (bill.state === 'claimed' && answer.state === 'not_found') {
    // Its caller may have died before the hold, and a hold that is still on its way must not stay behind.
    const held = await billing.ledger.hold(bill)
    if (!held) return dropClaim(billing.db, bill.billPaymentId, leaseToken)
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

/** Tells the ledger of ends, until it knows them. */
export function startSettling(billing: Billing): Loop {
  const { db, log } = billing
  return startLoop({
    kind: 'settling',
    log,
    pauseMs,
    idlePauseMs,
    async round() {
      const ends = await takeUnsettled(db, settling.batchSize, leaseMs)
      const told: string[] = []
      await forEachOf(ends, { width: settling.width, kind: 'settling', log }, async (end) => {
        if (await tellLedger(billing, end)) told.push(end.billPaymentId)
      })
      if (told.length > 0) await markSettled(db, told)
      return ends.length === settling.batchSize
    },
  })
}

/** True once it knows. */
async function tellLedger({ db, ledger, log }: Billing, end: Unsettled): Promise<boolean> {
  try {
    await (end.succeeded ? ledger.post(end) : ledger.release(end))
    return true
  } catch (error) {
    log.warn({ err: error, kind: 'settling', attempts: end.attempts }, 'ledger not told')
    await settleLater(db, end.billPaymentId)
    return false
  }
}
