// Payments and the ledger on databases of their own, with what brings settlements from one to the other.

import { create } from '@bufbuild/protobuf'
import { createClient, createRouterTransport } from '@connectrpc/connect'
import { Registry } from 'prom-client'
import { EventSchema, InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { inboxRoutes } from '#platform/events/inbox-routes.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { startOutbox } from '#platform/events/outbox.ts'
import { readBalance } from '../../services/accounts/ledger/operations/ledger.ts'
import { settlementMetrics } from '../../services/accounts/ledger/settlement-metrics.ts'
import type { BackfillOptions } from '../../services/accounts/ledger/workers/backfill.ts'
import { startSettlementConsumer } from '../../services/accounts/ledger/workers/settlement-consumer.ts'
import { startHarness as startPayments } from '../payments/harness.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'

const internals = [
  'clearing',
  'held',
  'suspense',
  'fee_income',
  'merchant_receivable',
  'refunds_unpaid',
] as const

const settlementRows = sql(
  'test_all_settlements',
  'select settlement_id, kind, amount_minor from settlement order by settlement_id',
)
const outboxRows = sql(
  'test_settled_events',
  `select event_id, payload from outbox where subject = 'pw.payments.settled'
   order by occurred_at, event_id`,
)
const transferRows = sql(
  'test_transfers',
  `select transfer_id, reference, metadata ->> 'kind' as kind from transfer
   where method = 'payment' order by transfer_id`,
)
const openEvents = sql(
  'test_open_events',
  `select count(*)::integer as open from outbox
   where subject = 'pw.payments.settled' and confirmed_at is null and parked_at is null`,
)
const youngest = 61_000

/** Starts payments and a ledger that hears nothing of them yet. */
export async function startHarness() {
  const payments = await startPayments()
  const accounts = await createTestDatabase('accounts', migrationFolders('accounts'))
  const db = accounts.open()
  const metrics = new Registry()
  const posted = settlementMetrics({ metrics, db })
  const list = payments.settlementList
  const job: BackfillOptions = { db, payments: list, log: silentLog, posted }
  const closing: (() => Promise<void>)[] = []
  return {
    ...payments,
    ledger: db,
    metrics,
    list,
    job,
    /** Starts the outbox of payments and the consumer of accounts on a broker. */
    connect(brokerUrl: string) {
      const open = (name: string) => {
        const nats = connectNats({ url: brokerUrl, name, log: silentLog })
        closing.push(() => nats.close())
        return nats
      }
      const inbox = createClient(
        InboxService,
        createRouterTransport((router) => inboxRoutes(router, db)),
      )
      const outbox = startOutbox({
        db: payments.db,
        nats: open('payments'),
        subjects: { 'pw.payments.settled': { consumers: { accounts: inbox } } },
        log: silentLog,
        metrics: new Registry(),
      })
      payments.publishBy(outbox.publish)
      const consumer = startSettlementConsumer({
        db,
        nats: open('accounts'),
        log: silentLog,
        metrics,
        posted,
      })
      closing.unshift(
        () => outbox.close(),
        () => consumer.close(),
      )
    },
    /** Makes every settlement old enough for the list. */
    settle: () => payments.testClock.advance(youngest),
    /** Settlements that payments wrote. */
    settlements: () =>
      payments.db.rows<{ settlement_id: string; kind: string; amount_minor: bigint }>(
        settlementRows,
        [],
      ),
    /** Transfers that the ledger made of them. */
    transfers: () =>
      db.rows<{ transfer_id: string; reference: string; kind: string }>(transferRows, []),
    /** The events that carry settlements, as a consumer gets them. */
    async settledEvents() {
      const rows = await payments.db.rows<{ event_id: string; payload: Buffer }>(outboxRows, [])
      return rows.map(({ event_id: eventId, payload }) =>
        create(EventSchema, { eventId, subject: 'pw.payments.settled', payload }),
      )
    },
    /** Events that not every consumer has answered for. */
    openEvents: async () => (await payments.db.row<{ open: number }>(openEvents, []))?.open,
    /** Balances of our own accounts in USD; zeros are left out. */
    async balances(): Promise<Record<string, bigint>> {
      const { projectId } = payments
      const found = await Promise.all(
        internals.map(async (internal) => {
          const address = { internal }
          const asked = { address, projectId, currency: 'USD' }
          return [internal, (await readBalance(db, asked)).postedMinor] as const
        }),
      )
      return Object.fromEntries(found.filter(([, minor]) => minor !== 0n))
    },
    async stop() {
      for (const close of closing) await close()
      await payments.stop()
      await accounts.drop()
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>
