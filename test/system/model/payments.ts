// A model of payment requests as the contract describes them, and the calls that a shop and its payers make, each checked against the model.
import * as fc from 'fast-check'
import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  type ApiResponse,
  detailsOf,
  type Json,
  type Merchant,
  payer,
  payerStatesOf,
  type Receiver,
  unique,
} from '../harness.ts'
import { open, payByPin } from '../payments/browser.ts'

type PayerModel = { url: string; amountMinor: number; state: string; refusals: number }

/** What the contract says that a payment request is, after all that was done to it. */
export type PaymentModel = {
  id: string
  transaction: Json & { id: string }
  decimals: number
  currency: string
  state: string
  payers: PayerModel[]
  /** The states that callbacks are sent for, in order. */
  announced: string[]
  answer: Json
}

/** All payment requests of one history, the oldest first. */
export type Model = { payments: PaymentModel[] }

/** What a history is run against. */
export type Real = {
  shop: Merchant
  stranger: Merchant
  inbox: Receiver
  /** The number of the first payer of each payment: by it the shop lists those of this history alone. */
  mobileNumber: string
  /** Lets the time of a payment run out. */
  passDeadline: (paymentId: string) => Promise<void>
}

type Command = fc.AsyncCommand<Model, Real>

const decimalsOf: Record<string, number> = { TTD: 2, USD: 2, JPY: 0, BHD: 3 }
const maxRefusals = 5
const rightPin = '123456'
const wrongPin = '000002'
const merchantVersion = '2026-12-01'

/** Minor units as the contract writes an amount. */
function amountText(minor: number, decimals: number): string {
  return (minor / 10 ** decimals).toFixed(decimals)
}

const isOpen = ({ state }: PaymentModel): boolean => ['Pending', 'Partially_paid'].includes(state)

/** The payment reaches a state that ends its payers' chances; those who have paid get their money back unless all have. */
function end(payment: PaymentModel, state: string): void {
  payment.state = state
  payment.announced.push(state)
  for (const one of payment.payers) {
    if (one.state === 'paid') one.state = 'Refunded'
    else if (one.state === 'Pending') one.state = state
  }
}

/** The payment as the API shows it is the model's. */
async function expectAsModelled(real: Real, payment: PaymentModel): Promise<void> {
  const { id, transaction, currency, decimals, payers } = payment
  const answer = await eventually(
    () => real.shop.status(id),
    (now) => {
      expect(detailsOf(now)['status'], now.text).toBe(payment.state)
      expect(payerStatesOf(now), now.text).toEqual(payers.map(({ state }) => state))
    },
  )
  const sum = (of: PayerModel[]) => of.reduce((total, { amountMinor }) => total + amountMinor, 0)
  const paid = sum(payers.filter(({ state }) => state === 'paid'))
  const text = (minor: number) => `${amountText(minor, decimals)} ${currency}`
  expect(detailsOf(answer)).toMatchObject({
    id,
    transaction_id: transaction.id,
    amount: amountText(sum(payers), decimals),
    currency,
    payments_status: { paid: text(paid), remaining: text(sum(payers) - paid) },
  })
}

function expectRefusal({ status, body }: ApiResponse, wanted: readonly [number, string]): void {
  expect([status, body['errorCode']]).toEqual(wanted)
}

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name }
}

/** A command on one of the payments; it does nothing while there is none. */
function onPayment(
  name: string,
  run: (payment: PaymentModel, real: Real) => Promise<void>,
): fc.Arbitrary<Command> {
  return fc.nat({ max: 50 }).map((pick) => ({
    check: ({ payments }) => payments.length > 0,
    run: async ({ payments }, real) => {
      const payment = payments[pick % payments.length]
      if (payment === undefined) return
      await run(payment, real)
      await expectAsModelled(real, payment)
    },
    toString: () => `${name}(${pick})`,
  }))
}

const orders = fc.record({
  currency: fc.constantFrom(...Object.keys(decimalsOf)),
  shares: fc.array(fc.integer({ min: 1, max: 5_000_000 }), { minLength: 1, maxLength: 3 }),
})
type Order = typeof orders extends fc.Arbitrary<infer O> ? O : never

const creates = orders.map((order) =>
  command(`create(${order.shares.join('+')} ${order.currency})`, (model, real) =>
    create(order, model, real),
  ),
)

async function create({ currency, shares }: Order, { payments }: Model, real: Real): Promise<void> {
  const decimals = decimalsOf[currency] ?? 2
  const text = (minor: number) => amountText(minor, decimals)
  const transaction = {
    id: unique('model'),
    amount: text(shares.reduce((total, share) => total + share, 0)),
    currency,
    payers: shares.map((share, n) => ({
      ...payer(20 + n, { amount: text(share) }),
      ...(n === 0 && { mobile_number: real.mobileNumber }),
    })),
    urls: real.inbox.urls,
  }
  const { id, urls, answer } = await real.shop.create(transaction)
  payments.push({
    id,
    transaction,
    decimals,
    currency,
    state: 'Pending',
    payers: shares.map((amountMinor, n) => {
      return { url: urls[n] ?? '', amountMinor, state: 'Pending', refusals: 0 }
    }),
    announced: [],
    answer: detailsOf(answer),
  })
}

async function expectRepeat({ transaction, answer }: PaymentModel, { shop }: Real): Promise<void> {
  const again = await shop.request(transaction)
  expect([again.status, detailsOf(again)], again.text).toEqual([200, answer])
}

async function expectConflict({ transaction }: PaymentModel, { shop }: Real): Promise<void> {
  const other = await shop.request({ ...transaction, description: 'another order' })
  expectRefusal(other, [409, 'DUPLICATE_TRANSACTION_ID'])
}

async function expectTheirsAlone({ id }: PaymentModel, { stranger }: Real): Promise<void> {
  expectRefusal(await stranger.status(id), [404, 'PAYMENT_NOT_FOUND'])
  expectRefusal(await stranger.cancel(id), [404, 'PAYMENT_NOT_FOUND'])
  expectRefusal(await refundOf(stranger, id), [404, 'PAYMENT_NOT_FOUND'])
}

async function cancel(payment: PaymentModel, { shop }: Real): Promise<void> {
  const answer = await shop.cancel(payment.id)
  if (payment.state === 'Pending') end(payment, 'Cancelled')
  if (payment.state === 'Cancelled') expectState(answer, 'Cancelled')
  else expectRefusal(answer, [409, 'PAYMENT_NOT_CANCELLABLE'])
}

function refundOf({ call, apiKey }: Merchant, payment_details_id: string): Promise<ApiResponse> {
  const body = { api_key: apiKey, payment_details_id }
  return call('POST', '/payments/refund', { query: { version: merchantVersion }, body })
}

async function refund(payment: PaymentModel, { shop }: Real): Promise<void> {
  const answer = await refundOf(shop, payment.id)
  if (payment.state === 'paid') end(payment, 'Refunded')
  if (payment.state === 'Refunded') expectState(answer, 'Refunded')
  else expectRefusal(answer, [409, 'PAYMENT_NOT_REFUNDABLE'])
}

function expectState(answer: ApiResponse, state: string): void {
  expect([answer.status, detailsOf(answer)['status']], answer.text).toEqual([200, state])
}

const attempts = fc
  .record({ who: fc.nat({ max: 2 }), refusals: fc.constantFrom(0, 0, 0, 1, 1, 4, 5) })
  .chain(({ who, refusals }) =>
    onPayment(`payer ${who}, refused ${refusals} times,`, (payment, real) =>
      attempt(payment, real, who, refusals),
    ),
  )

/** A payer is refused `refusals` times; at 0 they pay. */
async function attempt(
  payment: PaymentModel,
  real: Real,
  who: number,
  refusals: number,
): Promise<void> {
  const one = payment.payers[who % payment.payers.length]
  if (one === undefined) return
  if (!isOpen(payment) || one.state !== 'Pending') {
    const page = await open(one.url)
    expect([page.status, page.html.includes('name="pin"')]).toEqual([200, false])
    return
  }
  for (let n = 0; n < refusals && one.refusals < maxRefusals; n += 1) {
    await payByPin(one.url, wrongPin)
    one.refusals += 1
    if (one.refusals === maxRefusals) {
      one.state = 'Failed'
      end(payment, 'Failed')
    }
    await expectAsModelled(real, payment)
  }
  if (refusals > 0) return
  await payByPin(one.url, rightPin)
  one.state = 'paid'
  if (payment.payers.every(({ state }) => state === 'paid')) {
    payment.state = 'paid'
    payment.announced.push('paid')
  } else payment.state = 'Partially_paid'
}

async function passDeadline(payment: PaymentModel, real: Real): Promise<void> {
  await real.passDeadline(payment.id)
  if (isOpen(payment)) end(payment, 'Expired')
}

const lists = fc
  .constantFrom('', 'Pending', 'paid', 'Refunded')
  .map((state) => command(`list(${state})`, (model, real) => expectListed(model, real, state)))

async function expectListed(
  { payments }: Model,
  { shop, mobileNumber }: Real,
  state: string,
): Promise<void> {
  const query = {
    version: merchantVersion,
    api_key: shop.apiKey,
    mobile_number: mobileNumber,
    limit: '100',
    status: state === '' ? undefined : state,
  }
  const { body, text } = await shop.call('GET', '/payments/list', { query })
  const listed = (body['payments'] as Json[]).map((row) => [
    row['payment_details_id'],
    row['status'],
  ])
  const wanted = payments
    .filter((payment) => state === '' || payment.state === state)
    .map((payment) => [payment.id, payment.state])
  expect(listed, text).toEqual(wanted.toReversed())
}

/** Histories of a shop and its payers. The first command makes a payment, so that the others have one. */
export const histories: fc.Arbitrary<Command[]> = fc
  .tuple(
    creates,
    fc.array(
      fc.oneof(
        { weight: 3, arbitrary: creates },
        { weight: 1, arbitrary: onPayment('repeat', expectRepeat) },
        { weight: 1, arbitrary: onPayment('conflict', expectConflict) },
        { weight: 1, arbitrary: onPayment('stranger', expectTheirsAlone) },
        { weight: 2, arbitrary: onPayment('cancel', cancel) },
        { weight: 3, arbitrary: onPayment('refund', refund) },
        { weight: 9, arbitrary: attempts },
        { weight: 1, arbitrary: onPayment('deadline', passDeadline) },
        { weight: 2, arbitrary: lists },
      ),
      { minLength: 8, maxLength: 24, size: 'max' },
    ),
  )
  .map(([first, more]) => [first, ...more])

/** A history that no draw leaves out: two payers pay and are refunded, and one of two has paid when the time runs out. */
export async function playEnds(model: Model, real: Real): Promise<void> {
  const order = { currency: 'USD', shares: [1_000, 2_000] }
  const after = async (payment: PaymentModel, step: Promise<void>) => {
    await step
    await expectAsModelled(real, payment)
  }
  await create(order, model, real)
  await create(order, model, real)
  const [refunded, expired] = model.payments
  if (refunded === undefined || expired === undefined) throw new Error('two payments were created')
  await after(refunded, expectConflict(refunded, real))
  await after(refunded, attempt(refunded, real, 0, 0))
  await after(refunded, attempt(refunded, real, 1, 0))
  await after(refunded, refund(refunded, real))
  await after(expired, attempt(expired, real, 0, 0))
  await after(expired, passDeadline(expired, real))
}

/** After a history: each payment is as the model has it, and its callbacks announced each of its last states once, in order. */
export async function expectSettled({ payments }: Model, real: Real): Promise<void> {
  await Promise.all(payments.map((payment) => expectAsModelled(real, payment)))
  const wanted = payments.map(({ id, announced }) => [id, announced] as const)
  await eventually(real.inbox.callbacks, (pushes) => {
    const bodies = [...new Set(pushes.map(({ body }) => body))].map((body) => {
      return JSON.parse(body) as { sequence: number; status: string; payment_details: Json }
    })
    const sent = payments.map(({ id }) => [
      id,
      bodies
        .filter(({ payment_details }) => payment_details['id'] === id)
        .toSorted((one, other) => one.sequence - other.sequence)
        .map(({ sequence, status }) => `${sequence} ${status}`),
    ])
    expect(sent).toEqual(
      wanted.map(([id, announced]) => [id, announced.map((state, n) => `${n + 1} ${state}`)]),
    )
  })
}
