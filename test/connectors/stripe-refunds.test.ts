// Moves single refunds of the Stripe connector on, one claim after the other: they wait for our balance, and a worker whose lease has ended moves no money by what it read before.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { type ConnectorContext, connectorMigrations } from '../../connectors/kit/connector.ts'
import { acceptCredit } from '../../connectors/kit/operations/credits.ts'
import { findCredit } from '../../connectors/kit/store/payment-store.ts'
import { claimWork, endWork } from '../../connectors/kit/store/work-store.ts'
import { NotYet } from '../../connectors/kit/workers/worker.ts'
import { isFinalRefusal } from '../../connectors/stripe/domain/refund.ts'
import { refund, refundKind } from '../../connectors/stripe/operations/refund.ts'
import { type StripeCalls, stripeAt } from '../../connectors/stripe/ports/stripe.ts'
import {
  findRefund,
  recordRefundSent,
  renewRefundKey,
} from '../../connectors/stripe/store/refund-store.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { cards, type Fault, publishableKey, secretKey, startStripe } from './stripe-mock.ts'

let stripe: Awaited<ReturnType<typeof startStripe>>
let database: TestDatabase
let db: Database

beforeAll(async () => {
  stripe = await startStripe()
  const folder = join(import.meta.dirname, '../../connectors/stripe/migrations')
  database = await createTestDatabase('connector', connectorMigrations(folder))
  db = database.open()
})
afterAll(async () => {
  await stripe.close()
  await database.drop()
})

const insertPaidCharge = sql(
  'insert_paid_charge',
  `with charge as (
     insert into charge (charge_id, state, currency, amount_minor, mobile_number, business_name, expire_at)
     values ($1, 'paid', 'EUR', 1250, '+46733123999', 'Shop', clock_now()) returning charge_id
   ), attempt as (
     insert into attempt (attempt_id, charge_id, outcome) select $2, charge_id, 'paid' from charge
   )
   insert into intent (attempt_id, intent_id) values ($2, $3)`,
)
const insertFailedRefund = sql(
  'insert_failed_refund',
  `insert into refund (reference, key_spent, key_at, sent_at)
   values ($1, true, clock_now() - interval '3 min', clock_now() - interval '3 min')`,
)
const ageRefund = sql(
  'age_refund',
  `update refund set key_at = key_at - interval '3 min', sent_at = sent_at - interval '3 min' where reference = $1`,
)

/** A paid charge of 12.50 EUR. */
async function newCharge(calls: StripeCalls) {
  const [chargeId, attemptId] = [randomUUID(), randomUUID()]
  const order = { attemptId, chargeId, amount: 1250, currency: 'EUR', name: 'Shop' }
  const made = await calls.create(order, attemptId)
  if ('rejected' in made) throw new Error(made.rejected)
  const { intentId } = made
  await calls.confirm(intentId, `ctoken_${cards.good}_1`, `${attemptId}-confirm`)
  await db.run(insertPaidCharge, [chargeId, attemptId, intentId])
  return { chargeId, intentId }
}

/** A refund of a part of a paid charge whose calls Stripe answers as planned. */
async function newRefund(calls: StripeCalls, ...faults: Fault[]): Promise<string> {
  const reference = randomUUID()
  const { chargeId } = await newCharge(calls)
  const money = { currency: 'EUR', amountMinor: 100n, mobileNumber: '+46733123999' }
  await acceptCredit(db, { reference, kind: 'refund', chargeId, ...money }, refundKind)
  stripe.plan(reference, ...faults)
  return reference
}

const nextClaim = async () => (await claimWork(db, refundKind, 1, 0))[0]

/** Claims the refund under a lease that ends at once, and moves it on. */
async function advance(calls: StripeCalls): Promise<void> {
  const work = await nextClaim()
  if (work === undefined) throw new Error('no work')
  const context = { db, log: silentLog, notify: () => undefined } as unknown as ConnectorContext
  const account = { stripe: calls, publishableKey, publicUrl: '', checkoutOrigin: '' }
  await refund(work, context, account)
  await endWork(db, { ...work, outcome: 'done', reason: null, delayMs: 0 })
}

it('a worker whose lease has ended does not make others refund again with a third key', async () => {
  const client = stripeAt(stripe.url, secretKey)
  const reference = await newRefund(client)
  // Stripe answered 500 three minutes ago.
  await db.run(insertFailedRefund, [reference])
  const slow: StripeCalls = {
    ...client,
    async findRefund(order) {
      const found = await client.findRefund(order)
      // Meanwhile others take a new key and refund with it, and the answer is lost.
      await nextClaim()
      await renewRefundKey(db, reference)
      await recordRefundSent(db, reference)
      await client.refund({ ...order, amount: 100 }, `${reference}-1`)
      return found
    },
  }
  await expect(advance(slow)).rejects.toThrow('lease')
  await advance(client)
  expect(stripe.refundsOf(reference)).toHaveLength(1)
})

const stateOf = async (reference: string) => (await findCredit(db, reference))?.state

/** Moves the refund on by this many claims, none of which ends it. */
async function wait(calls: StripeCalls, claims: number): Promise<void> {
  for (let claim = 0; claim < claims; claim += 1)
    await expect(advance(calls)).rejects.toThrow(NotYet)
}

/** Moves a refund that Stripe does not have on until it is sent again: looked for at once and after a silence, and then sent with another key. */
async function waitForSilence(calls: StripeCalls, reference: string): Promise<void> {
  await wait(calls, 1)
  await db.run(ageRefund, [reference])
  await wait(calls, 1)
}

it.each<Fault>(['refund no balance', 'refund no balance 402'])(
  'a refund that Stripe answers with "%s" is sent again with another key, and made once',
  async (fault) => {
    const client = stripeAt(stripe.url, secretKey)
    const reference = await newRefund(client, fault, fault)
    const keys = () => stripe.callsOf(reference, 'refund').map(({ key }) => key)
    await wait(client, 1)
    await waitForSilence(client, reference)
    await wait(client, 1)
    await waitForSilence(client, reference)
    expect(keys()).toEqual([`${reference}-0`, `${reference}-1`])
    await advance(client)
    expect(keys()[2]).toBe(`${reference}-2`)
    expect(stripe.refundsOf(reference)).toHaveLength(1)
    expect(await stateOf(reference)).toBe('completed')
  },
)

it('a refund survives a rate limit that Stripe answers with 400, and a key of another account', async () => {
  const client = stripeAt(stripe.url, secretKey)
  const reference = await newRefund(client, 'refund 400 rate limit', 'refund 404')
  await expect(advance(client)).rejects.toThrow('rate_limit')
  await expect(advance(client)).rejects.toThrow('resource_missing')
  await waitForSilence(client, reference)
  await advance(client)
  expect(stripe.refundsOf(reference)).toHaveLength(1)
  expect(await stateOf(reference)).toBe('completed')
})

it('a refund of more than is left of the charge fails, with and without a code of Stripe', async () => {
  const client = stripeAt(stripe.url, secretKey)
  const { intentId } = await newCharge(client)
  const refund = (reference: string, amount: number) =>
    client.refund({ reference, intentId, amount }, randomUUID())
  expect(await refund(randomUUID(), 1251)).toEqual({ rejected: 'invalid_amount' })
  await refund(randomUUID(), 1250)
  const none = await refund(randomUUID(), 1)
  expect(none).toEqual({ rejected: 'charge_already_refunded' })
  expect(['invalid_amount', 'charge_already_refunded'].map(isFinalRefusal)).toEqual([true, true])
})

it('a refund that Stripe has accepted and then failed for lack of money is made again, and reconciles as one', async () => {
  const client = stripeAt(stripe.url, secretKey)
  const reference = await newRefund(client, 'refund pending balance')
  await wait(client, 2)
  stripe.settleRefund(reference, 'failed', 'insufficient_funds')
  await wait(client, 1)
  await waitForSilence(client, reference)
  await advance(client)
  const statuses = stripe.refundsOf(reference).map(({ status }) => status)
  expect(statuses).toEqual(['failed', 'succeeded'])
  expect(await stateOf(reference)).toBe('completed')
  const [from, to] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000))
  const { movements, returned = [] } = await client.movements(from ?? new Date(), to ?? new Date())
  expect(movements.filter((one) => one.reference === reference)).toHaveLength(1)
  expect(returned.filter((one) => one.reference === reference)).toEqual([])
})

it('a worker whose lease has ended does not forget the refund that others have recorded', async () => {
  const client = stripeAt(stripe.url, secretKey)
  const reference = await newRefund(client, 'refund pending balance')
  await wait(client, 1)
  stripe.settleRefund(reference, 'failed', 'insufficient_funds')
  const slow: StripeCalls = {
    ...client,
    async enquireRefund(refundId) {
      const found = await client.enquireRefund(refundId)
      await nextClaim()
      return found
    },
  }
  await expect(advance(slow)).rejects.toThrow('lease')
  expect((await findRefund(db, reference)).refundId).toBe(stripe.refundsOf(reference)[0]?.id)
  await wait(client, 1)
  await waitForSilence(client, reference)
  await advance(client)
  expect(await stateOf(reference)).toBe('completed')
})
