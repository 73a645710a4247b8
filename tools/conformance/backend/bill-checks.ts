// Checks of bill payments: outcomes, repeats, billers that are slow, silent or never got the bill.
import { randomUUID } from 'node:crypto'
import { formatAmount } from '#core/money/money.ts'
import { type BillOutcome, BillState, RetryCategory } from '#gen/payweave/backend/v1/billers_pb.js'
import { demand, Unmet } from '../check.ts'
import {
  amountOf,
  type BackendCheck,
  backendGroup,
  type CheckContext,
  demandConflict,
  demandExecuted,
  more,
  statusOf,
  within,
} from './check.ts'
import type { OutcomeName } from './outcome-map.ts'

const bill = backendGroup('bills')
const { PENDING, PAID, REFUSED, NOT_FOUND } = BillState
/** Shorter than any caller of production waits. */
const givenUpAfterMs = 400

export const billChecks: readonly BackendCheck[] = [
  bill(
    'paid',
    'A bill is paid once, with the amount ordered: repeats return the first outcome and reference.',
    ['bill.paid'],
    async (context) => {
      const order = newBill(context, 'bill.paid')
      const pay = () => context.bills.payBill(order)
      const answers = await Promise.all([pay(), pay()])
      answers.push(await pay())
      const outcomes = answers.map(({ outcome }) => known(outcome))
      for (const outcome of outcomes) demandIs(outcome, PAID, 'a call')
      const references = new Set(outcomes.map(({ providerReference }) => providerReference))
      demand(references.size === 1, `repeats returned ${references.size} provider references`)
      demandIs(await enquire(context, order.billPaymentId), PAID, 'the enquiry')
      await demandExecutedOnce(context, order.billPaymentId, 1)
    },
  ),
  bill(
    'other-content',
    'A bill whose id comes again with another amount or customer is refused; the first one is paid.',
    ['bill.paid'],
    async (context) => {
      const order = newBill(context, 'bill.paid')
      demandIs(known((await context.bills.payBill(order)).outcome), PAID, 'the call')
      await demandConflict(context.bills.payBill({ ...order, amount: more(order.amount) }))
      const customerReference = `1${order.customerReference}`
      await demandConflict(context.bills.payBill({ ...order, customerReference }))
      demandIs(await enquire(context, order.billPaymentId), PAID, 'the enquiry')
      await demandExecutedOnce(context, order.billPaymentId, 1)
    },
  ),
  bill(
    'refused',
    'A refusal has a code in upper case and says whether to try again; a repeat returns the same.',
    ['bill.refused'],
    async (context) => {
      const order = newBill(context, 'bill.refused')
      const first = known((await context.bills.payBill(order)).outcome)
      demandIs(first, REFUSED, 'the call')
      demand(/^[A-Z][A-Z0-9_]*$/.test(first.failureCode), `failure_code is "${first.failureCode}"`)
      demand(
        first.retryCategory !== RetryCategory.UNSPECIFIED,
        'retry_category of a refusal is not set',
      )
      const again = known((await context.bills.payBill(order)).outcome)
      demand(again.failureCode === first.failureCode, 'a repeat was refused with another code')
      demandIs(await enquire(context, order.billPaymentId), REFUSED, 'the enquiry')
      await demandExecutedOnce(context, order.billPaymentId, 0)
    },
  ),
  bill(
    'slow',
    'While a biller decides, an enquiry returns PENDING; later it returns PAID.',
    ['bill.slow'],
    async (context) => {
      const order = newBill(context, 'bill.slow')
      await giveUp(context, order)
      demandIs(await enquire(context, order.billPaymentId), PENDING, 'the enquiry')
      await within(context, 'the bill stays pending', async () => {
        const { state } = await enquire(context, order.billPaymentId)
        return state === PAID ? true : undefined
      })
      await demandExecutedOnce(context, order.billPaymentId, 1)
    },
  ),
  bill(
    'silent',
    'A bill that was paid without an answer is found PAID by an enquiry, and not paid again.',
    ['bill.silent'],
    async (context) => {
      const order = newBill(context, 'bill.silent')
      await giveUp(context, order)
      demandIs(await enquire(context, order.billPaymentId), PAID, 'the enquiry')
      demandIs(known((await context.bills.payBill(order)).outcome), PAID, 'the repeat')
      await demandExecutedOnce(context, order.billPaymentId, 1)
    },
  ),
  bill(
    'lost',
    'A bill that never reached the biller is NOT_FOUND, and then refused permanently.',
    ['bill.lost'],
    async (context) => {
      const order = newBill(context, 'bill.lost')
      await giveUp(context, order)
      await demandGone(context, order)
    },
  ),
  bill(
    'unknown-is-final',
    'A bill payment that an enquiry has called NOT_FOUND is never executed.',
    ['bill.paid'],
    (context) => demandGone(context, newBill(context, 'bill.paid')),
  ),
]

type Order = ReturnType<typeof newBill>

function newBill(context: CheckContext, outcome: OutcomeName & `bill.${string}`) {
  const values = context.outcome(outcome)
  return {
    billPaymentId: randomUUID(),
    billerCode: values.biller_code,
    productCode: values.product_code,
    customerReference: values.customer_reference,
    amount: amountOf(context),
  }
}

/** Pays and stops waiting, as a caller does whose deadline passes. */
async function giveUp(context: CheckContext, order: Order): Promise<void> {
  const status = await statusOf(context.bills.payBill(order, { timeoutMs: givenUpAfterMs }))
  demand(
    status === 'deadline_exceeded',
    `the call was answered ${status} before the biller decided`,
  )
}

async function demandGone(context: CheckContext, order: Order): Promise<void> {
  demandIs(await enquire(context, order.billPaymentId), NOT_FOUND, 'the enquiry')
  const status = await statusOf(context.bills.payBill(order))
  demand(status === 'failed_precondition', `a later call was answered ${status}`)
  demandIs(await enquire(context, order.billPaymentId), NOT_FOUND, 'the next enquiry')
  await demandExecutedOnce(context, order.billPaymentId, 0)
}

async function enquire(context: CheckContext, billPaymentId: string): Promise<BillOutcome> {
  return known((await context.bills.enquireBill({ billPaymentId })).outcome)
}

function known(outcome: BillOutcome | undefined): BillOutcome {
  if (outcome === undefined) throw new Unmet('the answer has no outcome')
  return outcome
}

const nameOf = (one: BillState) => BillState[one] ?? String(one)

function demandIs({ state }: BillOutcome, wanted: BillState, what: string): void {
  demand(state === wanted, `${what} returned ${nameOf(state)}, not ${nameOf(wanted)}`)
}

function demandExecutedOnce(context: CheckContext, id: string, times: 0 | 1): Promise<void> {
  const { currency, amount_minor_units: minorUnits } = context.map
  const amount = formatAmount(BigInt(minorUnits), currency)
  return demandExecuted(context, 'bill', id, times, { amount, currency })
}
