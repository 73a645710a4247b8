// A model of bill payments as the contract describes them, and the calls of a client that pays bills, each checked against the model.
import * as fc from 'fast-check'
import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { SharedMesh } from '../../support/mesh.ts'
import { type ApiResponse, type Json, type Merchant, unique } from '../harness.ts'

type BillModel = { key: string; body: Json; answer: Json; amountMinor: number }

/** All bill payments that were accepted in one history. */
export type Model = { bills: BillModel[] }

/** What a history is run against. */
export type Real = { mesh: Pick<SharedMesh, 'rows'>; shop: Merchant; poor: Merchant }

type Command = fc.AsyncCommand<Model, Real>

const version = '2026-07-01'
/** The last four digits of a reference by which the simulator's biller refuses, and the code that the answer then has. */
const refusals = {
  '0402': 'CUSTOMER_REFERENCE_REJECTED',
  '0409': 'BILL_ALREADY_PAID',
} as const

function pay({ call }: Merchant, key: string, body: Json): Promise<ApiResponse> {
  const headers = { 'Idempotency-Key': key }
  return call('POST', '/bill_payments/pay', { query: { version }, headers, body })
}

function read({ call }: Merchant, what: 'status' | 'receipt', id: unknown): Promise<ApiResponse> {
  const query = { version, transaction_id: String(id) }
  return call('GET', `/bill_payments/${what}`, { query })
}

function expectRefusal({ status, body }: ApiResponse, wanted: readonly [number, string]): void {
  expect([status, body['errorCode']]).toEqual(wanted)
}

function amountText(minor: number): string {
  return (minor / 100).toFixed(2)
}

const orders = fc.record({
  amountMinor: fc.integer({ min: 100, max: 500_000 }),
  currency: fc.constantFrom('USD', 'TTD'),
  // Its end means nothing to the biller.
  account: fc.integer({ min: 10_000_000, max: 99_999_999 }).filter((n) => n % 10_000 >= 1_000),
  ending: fc.constantFrom('', '', '', ...Object.keys(refusals)),
})
type Order = typeof orders extends fc.Arbitrary<infer O> ? O : never

function bodyOf({ amountMinor, currency, account, ending }: Order): Json {
  return {
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: amountText(amountMinor),
    currency,
    customer_reference: `${account}${ending}`,
    external_reference: unique('model'),
  }
}

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name }
}

const payments = orders.map((order) =>
  command(`pay(${JSON.stringify(order)})`, (model, real) => payBill(order, model, real)),
)

async function payBill(order: Order, { bills }: Model, { shop }: Real): Promise<void> {
  const key = unique('key')
  const body = bodyOf(order)
  const answer = await pay(shop, key, body)
  const failure = refusals[order.ending as keyof typeof refusals]
  expect([answer.status, answer.body['normalized_status']], answer.text).toEqual([
    201,
    failure === undefined ? 'SUCCESS' : 'FAILED',
  ])
  if (failure !== undefined) expect(answer.body['failure_code']).toBe(failure)
  bills.push({ key, body, answer: answer.body, amountMinor: order.amountMinor })
}

/** What is wrong with a request, and the refusal that it gets. */
const mistakes = fc.constantFrom(
  { code: 'BILLER_NOT_FOUND', status: 404, change: { biller_code: 'DEMO_GAS' } },
  { code: 'PRODUCT_NOT_FOUND', status: 404, change: { product_code: 'BILL' } },
  { code: 'CURRENCY_NOT_SUPPORTED', status: 400, change: { currency: 'EUR' } },
  { code: 'AMOUNT_OUT_OF_RANGE', status: 400, change: { amount: '0.99' } },
  { code: 'CUSTOMER_REFERENCE_INVALID', status: 400, change: { customer_reference: '1234567' } },
)
type Mistake = typeof mistakes extends fc.Arbitrary<infer M> ? M : never

const rejected = fc
  .tuple(mistakes, orders)
  .map(([mistake, order]) =>
    command(`rejected(${mistake.code})`, (model, real) => mendBill(mistake, order, model, real)),
  )

/** A request that is refused before it is accepted leaves its key to the next one. */
async function mendBill(
  { code, status, change }: Mistake,
  order: Order,
  { bills }: Model,
  { shop }: Real,
): Promise<void> {
  const key = unique('key')
  const body = { ...bodyOf(order), customer_reference: '12345678' }
  expectRefusal(await pay(shop, key, { ...body, ...change }), [status, code])
  const answer = await pay(shop, key, body)
  expect(answer.body, answer.text).toMatchObject({ code: 201, normalized_status: 'SUCCESS' })
  expect(answer.headers.get('idempotency-replayed')).toBeNull()
  bills.push({ key, body, answer: answer.body, amountMinor: order.amountMinor })
}

/** A command on one of the bill payments; it is left out while there is none. */
function onBill(
  name: string,
  run: (bill: BillModel, real: Real) => Promise<void>,
): fc.Arbitrary<Command> {
  return fc.nat({ max: 50 }).map((pick) => ({
    check: ({ bills }) => bills.length > 0,
    run: async ({ bills }, real) => {
      const bill = bills[pick % bills.length]
      if (bill !== undefined) await run(bill, real)
    },
    toString: () => `${name}(${pick})`,
  }))
}

async function expectRepeat({ key, body, answer }: BillModel, { shop }: Real): Promise<void> {
  const again = await pay(shop, key, Object.fromEntries(Object.entries(body).toReversed()))
  expect([again.status, again.body]).toEqual([201, answer])
  expect(again.headers.get('idempotency-replayed')).toBe('true')
}

async function expectConflict({ key, body }: BillModel, { shop }: Real): Promise<void> {
  const other = await pay(shop, key, { ...body, description: 'another bill' })
  expectRefusal(other, [409, 'IDEMPOTENCY_KEY_CONFLICT'])
}

/** Keys are a project's own, and so are bill payments; the float of the other project is empty. */
async function expectTheirsAlone({ key, body, answer }: BillModel, { poor }: Real): Promise<void> {
  expectRefusal(await pay(poor, key, body), [409, 'INSUFFICIENT_FUNDS'])
  for (const what of ['status', 'receipt'] as const) {
    const seen = await read(poor, what, answer['transaction_id'])
    expectRefusal(seen, [404, 'BILL_PAYMENT_NOT_FOUND'])
  }
}

async function expectAsAnswered({ answer, body }: BillModel, { shop }: Real): Promise<void> {
  const { transaction_id, normalized_status, receipt_id } = answer
  const known = { transaction_id, normalized_status, receipt_id }
  const { external_reference, amount, currency } = body
  const status = await read(shop, 'status', transaction_id)
  expect(status.body, status.text).toMatchObject({ code: 200, ...known, external_reference })
  const receipt = await read(shop, 'receipt', transaction_id)
  if (normalized_status !== 'SUCCESS') return expectRefusal(receipt, [409, 'RECEIPT_NOT_AVAILABLE'])
  expect(receipt.body, receipt.text).toMatchObject({ code: 200, ...known, amount, currency })
}

/** Histories of a client that pays bills. */
export const histories: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: payments },
    { weight: 2, arbitrary: rejected },
    { weight: 2, arbitrary: onBill('repeat', expectRepeat) },
    { weight: 2, arbitrary: onBill('conflict', expectConflict) },
    { weight: 1, arbitrary: onBill('stranger', expectTheirsAlone) },
    { weight: 2, arbitrary: onBill('read', expectAsAnswered) },
  ),
  { minLength: 10, maxLength: 25, size: 'max' },
)

/** After a history: receipts differ, and each bill that was paid left the float exactly once, each other one not at all. */
export async function expectSettled({ bills }: Model, real: Real): Promise<void> {
  const receipts = bills.map(({ answer }) => answer['receipt_id']).filter((id) => id !== null)
  expect(new Set(receipts).size).toBe(receipts.length)
  const ids = bills.map(({ answer }) => answer['transaction_id'])
  const wanted = bills.map(({ answer, amountMinor }) => [
    answer['transaction_id'],
    answer['normalized_status'] === 'SUCCESS' ? String(-amountMinor) : '0',
  ])
  await eventually(
    () =>
      real.mesh.rows<{ transaction_id: string; moved: string }>(
        `select bill.transaction_id, coalesce(sum(posting.amount_minor), 0)::text as moved
         from billing.bill_payment bill left join accounts.posting
           on posting.transfer_id = bill.bill_payment_id and posting.internal is null
         where bill.transaction_id = any($1) group by bill.transaction_id`,
        [ids],
      ),
    (rows) => {
      const moved = new Map(rows.map((row) => [row.transaction_id, row.moved]))
      expect(ids.map((id) => [id, moved.get(String(id))])).toEqual(wanted)
    },
  )
}
