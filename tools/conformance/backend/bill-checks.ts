// Checks of bill payments: outcomes, repeats, billers that are slow, silent or never got the bill.
import { randomUUID } from 'node:crypto'
import { formatAmount } from '#core/money/money.ts'
import { type BillOutcome, BillState, RetryCategory } from '#gen/payweave/backend/v1/billers_pb.js'
import { demand, Unmet } from '../check.ts'
import {
  amountOf,
  type BackendCheck,
  backendGroup,
  demandConflict,
  demandExecuted,
  more,
  statusOf,
  type World,
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
    async (world) => {
      const order = newBill(world, 'bill.paid')
      const pay = () => world.bills.payBill(order)
      const answers = await Promise.all([pay(), pay()])
      answers.push(await pay())
      const outcomes = answers.map(({ outcome }) => known(outcome))
      for (const outcome of outcomes) demandIs(outcome, PAID, 'a call')
      const references = new Set(outcomes.map(({ providerReference }) => providerReference))
      demand(references.size === 1, `repeats returned ${references.size} provider references`)
      demandIs(await enquire(world, order.billPaymentId), PAID, 'the enquiry')
      await demandExecutedOnce(world, order.billPaymentId, 1)
    },
  ),
  bill(
    'other-content',
    'A bill whose id comes again with another amount or customer is refused; the first one is paid.',
    ['bill.paid'],
    async (world) => {
      const order = newBill(world, 'bill.paid')
      demandIs(known((await world.bills.payBill(order)).outcome), PAID, 'the call')
      await demandConflict(world.bills.payBill({ ...order, amount: more(order.amount) }))
      const customerReference = `1${order.customerReference}`
      await demandConflict(world.bills.payBill({ ...order, customerReference }))
      demandIs(await enquire(world, order.billPaymentId), PAID, 'the enquiry')
      await demandExecutedOnce(world, order.billPaymentId, 1)
    },
  ),
  bill(
    'refused',
    'A refusal has a code in upper case and says whether to try again; a repeat returns the same.',
    ['bill.refused'],
    async (world) => {
      const order = newBill(world, 'bill.refused')
      const first = known((await world.bills.payBill(order)).outcome)
      demandIs(first, REFUSED, 'the call')
      demand(/^[A-Z][A-Z0-9_]*$/.test(first.failureCode), `failure_code is "${first.failureCode}"`)
      demand(
        first.retryCategory !== RetryCategory.UNSPECIFIED,
        'retry_category of a refusal is not set',
      )
      const again = known((await world.bills.payBill(order)).outcome)
      demand(again.failureCode === first.failureCode, 'a repeat was refused with another code')
      demandIs(await enquire(world, order.billPaymentId), REFUSED, 'the enquiry')
      await demandExecutedOnce(world, order.billPaymentId, 0)
    },
  ),
  bill(
    'slow',
    'While a biller decides, an enquiry returns PENDING; later it returns PAID.',
    ['bill.slow'],
    async (world) => {
      const order = newBill(world, 'bill.slow')
      await giveUp(world, order)
      demandIs(await enquire(world, order.billPaymentId), PENDING, 'the enquiry')
      await within(world, 'the bill stays pending', async () => {
        const { state } = await enquire(world, order.billPaymentId)
        return state === PAID ? true : undefined
      })
      await demandExecutedOnce(world, order.billPaymentId, 1)
    },
  ),
  bill(
    'silent',
    'A bill that was paid without an answer is found PAID by an enquiry, and not paid again.',
    ['bill.silent'],
    async (world) => {
      const order = newBill(world, 'bill.silent')
      await giveUp(world, order)
      demandIs(await enquire(world, order.billPaymentId), PAID, 'the enquiry')
      demandIs(known((await world.bills.payBill(order)).outcome), PAID, 'the repeat')
      await demandExecutedOnce(world, order.billPaymentId, 1)
    },
  ),
  bill(
    'lost',
    'A bill that never reached the biller is NOT_FOUND, and then refused permanently.',
    ['bill.lost'],
    async (world) => {
      const order = newBill(world, 'bill.lost')
      await giveUp(world, order)
      await demandGone(world, order)
    },
  ),
  bill(
    'unknown-is-final',
    'A bill payment that an enquiry has called NOT_FOUND is never executed.',
    ['bill.paid'],
    (world) => demandGone(world, newBill(world, 'bill.paid')),
  ),
]

type Order = ReturnType<typeof newBill>

function newBill(world: World, outcome: OutcomeName & `bill.${string}`) {
  const values = world.outcome(outcome)
  return {
    billPaymentId: randomUUID(),
    billerCode: values.biller_code,
    productCode: values.product_code,
    customerReference: values.customer_reference,
    amount: amountOf(world),
  }
}

/** Pays and stops waiting, as a caller does whose deadline passes. */
async function giveUp(world: World, order: Order): Promise<void> {
  const status = await statusOf(world.bills.payBill(order, { timeoutMs: givenUpAfterMs }))
  demand(
    status === 'deadline_exceeded',
    `the call was answered ${status} before the biller decided`,
  )
}

async function demandGone(world: World, order: Order): Promise<void> {
  demandIs(await enquire(world, order.billPaymentId), NOT_FOUND, 'the enquiry')
  const status = await statusOf(world.bills.payBill(order))
  demand(status === 'failed_precondition', `a later call was answered ${status}`)
  demandIs(await enquire(world, order.billPaymentId), NOT_FOUND, 'the next enquiry')
  await demandExecutedOnce(world, order.billPaymentId, 0)
}

async function enquire(world: World, billPaymentId: string): Promise<BillOutcome> {
  return known((await world.bills.enquireBill({ billPaymentId })).outcome)
}

function known(outcome: BillOutcome | undefined): BillOutcome {
  if (outcome === undefined) throw new Unmet('the answer has no outcome')
  return outcome
}

const nameOf = (one: BillState) => BillState[one] ?? String(one)

function demandIs({ state }: BillOutcome, wanted: BillState, what: string): void {
  demand(state === wanted, `${what} returned ${nameOf(state)}, not ${nameOf(wanted)}`)
}

function demandExecutedOnce(world: World, id: string, times: 0 | 1): Promise<void> {
  const { currency, amount_minor_units: minorUnits } = world.map
  const amount = formatAmount(BigInt(minorUnits), currency)
  return demandExecuted(world, 'bill', id, times, { amount, currency })
}
