// Kills parts at random while payments flow; how long is set by KILL_TEST_S.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import {
  type Answer,
  createdOf,
  detailsOf,
  type Json,
  type Merchant,
  merchant,
  order,
  payer,
} from '../harness.ts'
import { type Received, startMerchantServer } from '../merchant-server.ts'

const killingS = Number(process.env['KILL_TEST_S'] ?? '25')
// The longest wait before an event is published again, and then a lease of a worker that was killed.
const settleMs = 180_000
/** How long a kill waits, after its pause, for payments to flow again. */
const patienceMs = 3_000
const timeoutMs = killingS * 1000 + 5 * settleMs
const clients = 4
const victims = [
  'gateway',
  'payments',
  'accounts',
  'delivery',
  'simulator',
  'nats',
  'postgres',
  'payments',
]

let mesh: Mesh
let shop: Merchant
let server: Awaited<ReturnType<typeof startMerchantServer>>

beforeAll(async () => {
  ;[mesh, server] = await Promise.all([startMesh({ name: 'kill' }), startMerchantServer()])
  shop = merchant(mesh)
})
afterAll(async () => {
  server.close()
  await mesh.remove()
})

/** An acknowledged payment, whether it has URLs for pushes, and whether its cancellation was acknowledged. */
type Known = {
  transaction: Json & { id: string }
  id: string
  answer: Json
  addressed: boolean
  cancelled: boolean
}

/** Repeats a call until its answer is clear, as an integrator does. */
async function clear(call: () => Promise<Answer>): Promise<Answer> {
  return eventually(call, ({ status, text }) => expect(status, text).toBeLessThan(500), settleMs)
}

/** Makes payments until `isOver` returns true; every third is cancelled at once, every fourth has no URL for pushes. */
async function trade(known: Known[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const cancels = known.length % 3 === 2
    const addressed = known.length % 4 !== 3
    const urls = addressed ? { urls: server.urls } : {}
    const transaction = order({ payers: [payer(cancels ? 20 : 1)], ...urls })
    const answer = await clear(() => shop.request(transaction))
    expect(answer.status, answer.text).toBe(200)
    const { id } = createdOf(answer)
    const row: Known = { transaction, id, answer: detailsOf(answer), addressed, cancelled: false }
    known.push(row)
    if (cancels) row.cancelled = (await clear(() => shop.cancel(id))).status === 200
    await sleep(40)
  }
}

/** Kills one part after the other, each time when payments flow again or have not for a while. */
async function kill(known: Known[], killed: string[], isOver: () => boolean): Promise<void> {
  const startedMs = Date.now()
  while (!isOver()) {
    const before = known.length
    await sleep(300 + Math.random() * 1_200)
    await eventually(() => known.length > before, patienceMs).catch(() => undefined)
    const name = victims[Math.floor(Math.random() * victims.length)] ?? 'payments'
    const { [name]: victim } = mesh.processes()
    if (victim === undefined) continue
    process.kill(victim.pid, 'SIGKILL')
    killed.push(`${name} at ${Math.round((Date.now() - startedMs) / 100) / 10} s`)
  }
}

/** Whether enough was killed, and payments of each kind were made meanwhile: a slow machine takes longer for that. */
function isEnough(known: Known[], killed: string[]): boolean {
  return (
    killed.length > killingS / 8 &&
    known.some(({ cancelled }) => cancelled) &&
    known.some(({ cancelled }) => !cancelled) &&
    known.some(({ addressed }) => !addressed)
  )
}

function storyOf(received: Received, id: string): { types: string[]; states: unknown[] } {
  const row = received.get(id)
  const read = (bodies: Iterable<string> = []) =>
    [...bodies].map((body) => JSON.parse(body) as Json)
  return {
    types: read(row?.notifies)
      .map((push) => String(push['event_type']))
      .toSorted(),
    states: read(row?.callbacks).map((push) => push['status']),
  }
}

/** Payments whose pushes are not, or not yet, those that they should be. */
function lateStories(known: Known[]): unknown[] {
  return known.flatMap(({ transaction: { id }, addressed, cancelled }) => {
    const story = storyOf(server.received, id)
    const pushed = cancelled ? cancelledStory : paidStory
    const expected = addressed ? pushed : unaddressedStory
    return JSON.stringify(story) === JSON.stringify(expected) ? [] : [{ id, cancelled, ...story }]
  })
}

/** Where events are that have not arrived. */
async function whatIsInside(): Promise<unknown> {
  const [events, deliveries] = await Promise.all([
    mesh.rows(
      `select attempts, confirmed_at is null as open, parked_at is not null as parked, count(*)
       from payments.outbox group by 1, 2, 3`,
    ),
    mesh.rows('select state, attempts, count(*) from delivery.delivery group by 1, 2'),
  ])
  return { events, deliveries }
}

const paidStory = {
  types: ['payment_completed', 'payment_initiated', 'payout_completed', 'payout_scheduled'],
  states: ['paid'],
}
const unaddressedStory = { types: [], states: [] }
const cancelledStory = { types: ['payment_cancelled', 'payment_initiated'], states: ['Cancelled'] }

/** Settlements without their transfer, and transfers of payments without their settlement. */
const unevenLedger = `
  select s.settlement_id, t.transfer_id from payments.settlement s
  full join accounts.transfer t on t.project_id = s.project_id and t.transfer_id = s.settlement_id
  where t.transfer_id is null or (s.settlement_id is null and t.method = 'payment')`

it(
  'across process kills, no acknowledged payment is lost, none is paid twice and every event arrives',
  async () => {
    const known: Known[] = []
    const killed: string[] = []
    const untilMs = Date.now() + killingS * 1000
    const latestMs = untilMs + settleMs
    const isOver = () => Date.now() > latestMs || (Date.now() > untilMs && isEnough(known, killed))
    const traders = Array.from({ length: clients }, () => trade(known, isOver))
    await Promise.all([kill(known, killed, isOver), ...traders])
    await mesh.ready()
    expect(killed.length).toBeGreaterThan(killingS / 8)
    expect(known.some(({ cancelled }) => cancelled)).toBe(true)
    expect(known.some(({ cancelled }) => !cancelled)).toBe(true)
    expect(known.some(({ addressed }) => !addressed)).toBe(true)

    for (const { transaction, id, answer, cancelled } of known) {
      await shop.stateIs(id, cancelled ? 'Cancelled' : 'paid', settleMs)
      const again = await clear(() => shop.request(transaction))
      expect(detailsOf(again), again.text).toEqual(answer)
    }
    await eventually(() => lateStories(known).length === 0, settleMs).catch(() => undefined)
    const late = lateStories(known)
    expect({ late, ...(late.length > 0 && { killed, inside: await whatIsInside() }) }).toEqual({
      late: [],
    })
    const paidIds = known.filter(({ cancelled }) => !cancelled).map(({ id }) => id)
    const money = await mesh.rows<{ kind: string; count: string; sum: string }>(
      `select kind, count(*), sum(amount_minor) from payments.settlement
       where payment_id = any($1) and kind in ('payer_receipt', 'payout') group by kind
       order by kind`,
      [paidIds],
    )
    expect(money).toMatchObject([
      {
        kind: 'payer_receipt',
        count: String(paidIds.length),
        sum: String(paidIds.length * 10_000),
      },
      { kind: 'payout', count: String(paidIds.length) },
    ])
    const others = await mesh.rows(
      `select kind, payment_id from payments.settlement
       where kind::text in ('late_receipt', 'duplicate_receipt', 'refund')
         or payment_id <> all($1)`,
      [paidIds],
    )
    expect(others).toEqual([])
    await eventually(
      () => mesh.rows('select event_id from payments.outbox where confirmed_at is null'),
      (open) => expect(open).toEqual([]),
      settleMs,
    )
    // Confirmed by the ledger too: what moved is posted, and nothing else is.
    expect(await mesh.rows(unevenLedger)).toEqual([])
    await mesh.ready()
  },
  timeoutMs,
)
