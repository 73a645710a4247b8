// Shows that a worker of the Stripe connector whose lease has ended moves no money by what it read before.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { type ConnectorContext, connectorMigrations } from '../../connectors/kit/connector.ts'
import { acceptCredit } from '../../connectors/kit/operations/credits.ts'
import { claimWork } from '../../connectors/kit/store/work-store.ts'
import { refund, refundKind } from '../../connectors/stripe/operations/refund.ts'
import { type StripeCalls, stripeAt } from '../../connectors/stripe/ports/stripe.ts'
import { recordRefundSent, renewRefundKey } from '../../connectors/stripe/store/refund-store.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { cards, publishableKey, secretKey, startStripe } from './stripe-mock.ts'

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

/** A refund of a part of a paid charge, to which Stripe answered 500 three minutes ago. */
async function failedRefund(calls: StripeCalls): Promise<string> {
  const [chargeId, attemptId, reference] = [randomUUID(), randomUUID(), randomUUID()]
  const order = { attemptId, chargeId, amount: 1250, currency: 'EUR', name: 'Shop' }
  const made = await calls.create(order, attemptId)
  if ('rejected' in made) throw new Error(made.rejected)
  await calls.confirm(made.intentId, `ctoken_${cards.good}_1`, `${attemptId}-confirm`)
  await db.run(insertPaidCharge, [chargeId, attemptId, made.intentId])
  const money = { currency: 'EUR', amountMinor: 100n, mobileNumber: '+46733123999' }
  await acceptCredit(db, { reference, kind: 'refund', chargeId, ...money }, refundKind)
  await db.run(insertFailedRefund, [reference])
  return reference
}

const nextClaim = async () => (await claimWork(db, refundKind, 1, 0))[0]

/** Claims the refund under a lease that ends at once, and moves it on. */
async function advance(calls: StripeCalls): Promise<void> {
  const work = await nextClaim()
  if (work === undefined) throw new Error('no work')
  const context = { db, log: silentLog, notify: () => undefined } as unknown as ConnectorContext
  const account = { stripe: calls, publishableKey, publicUrl: '', checkoutOrigin: '' }
  return refund(work, context, account)
}

it('a worker whose lease has ended does not make others refund again with a third key', async () => {
  const client = stripeAt(stripe.url, secretKey)
  const reference = await failedRefund(client)
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
