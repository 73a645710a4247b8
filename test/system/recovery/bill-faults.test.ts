// Bill payments while billing hangs, or while what it calls is away: answered in time, never with 500, and each paid once by its key. How long
// billing hangs at least is set by FREEZE_S.

import net from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { freeze } from '../../support/freeze.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import {
  type ApiResponse,
  type CallOptions,
  type Json,
  type Merchant,
  merchant,
  unique,
} from '../harness.ts'

const freezeMs = Number(process.env['FREEZE_S'] ?? '1') * 1_000
const billerTimeoutS = 3
const billMs = (billerTimeoutS + 5) * 1_000
const usualMs = 15_000
const parallel = 10
// The start of a part that was killed, and the lease of a claim that was begun.
const recoveredMs = 90_000
// From the start of billing after it was killed: far below the lease of a claim, of 33 s.
const releasedMs = 15_000
const simulatorPlace = 7

let mesh: Mesh
let shop: Merchant
beforeAll(async () => {
  mesh = await startMesh({
    name: 'bill-faults',
    settings: { BILLER_TIMEOUT_S: String(billerTimeoutS) },
  })
  shop = merchant(mesh)
})
afterAll(() => mesh.remove())

const body: Json = {
  biller_code: 'DEMO_POWER',
  product_code: 'PREPAID',
  amount: '10.00',
  currency: 'USD',
  customer_reference: '12345678',
}

function pay(key: string, more: CallOptions = {}): Promise<ApiResponse> {
  const query = { version: '2026-07-01' }
  return shop.call('POST', '/bill_payments/pay', {
    query,
    headers: { 'Idempotency-Key': key },
    body,
    ...more,
  })
}

const isSentOnce = true

/** Kills a part, and keeps it from being started again until the work is done. */
async function whileAway<T>(part: string, work: () => Promise<T>): Promise<T> {
  const thaw = await freeze(mesh.launcherPid())
  try {
    process.kill(mesh.pid(part), 'SIGKILL')
    return await work()
  } finally {
    thaw()
  }
}

/** Repeats a call until it has its outcome, and returns the statuses of all answers. */
async function settle(key: string): Promise<number[]> {
  const statuses: number[] = []
  const { body: last } = await eventually(
    () => pay(key),
    ({ status, text }) => {
      statuses.push(status)
      expect(status, text).toBe(201)
    },
    recoveredMs,
  )
  expect(last['normalized_status']).toBe('SUCCESS')
  return statuses
}

/** Each key has one payment with one execution, paid from the float, and no hold is left. */
async function expectPaidOnce(keys: string[]): Promise<void> {
  const payments = await mesh.rows<{ id: string; state: string }>(
    `select bill_payment_id as id, state from billing.bill_payment where idempotency_key = any($1)`,
    [keys],
  )
  expect(payments.map(({ state }) => state)).toEqual(keys.map(() => 'succeeded'))
  const ids = payments.map(({ id }) => id).toSorted()
  await eventually(
    async () => ({
      executions: await idsOf(
        `select subject_id as id from simulator.execution
        where kind = 'bill' and executed_at >= (select min(create_time) from billing.bill_payment
          where bill_payment_id = any($1))`,
        [ids],
      ),
      paid: await idsOf(
        `select transfer_id as id from accounts.posting
         where transfer_id = any($1) and amount_minor = -1000`,
        [ids],
      ),
      held: await idsOf(`select hold_id as id from accounts.hold where state = 'open'`),
      abandoned: await idsOf('select bill_payment_id as id from billing.abandoned_hold'),
    }),
    (found) => expect(found).toEqual({ executions: ids, paid: ids, held: [], abandoned: [] }),
    recoveredMs,
  )
}

async function idsOf(statement: string, values: unknown[] = []): Promise<string[]> {
  return (await mesh.rows<{ id: string }>(statement, values)).map(({ id }) => id).toSorted()
}

it(
  'while billing hangs every call is a 504 in time, and is executed once in the end',
  async () => {
    const keys: string[] = []
    const answers: Array<{ status: number; tookMs: number }> = []
    const timed = async (call: () => Promise<ApiResponse>) => {
      const watch = startStopwatch()
      const { status } = await call()
      return { status, tookMs: watch.elapsedMs() }
    }
    const thaw = await freeze(mesh.pid('billing'))
    const begunMs = Date.now()
    try {
      do {
        const batch = Array.from({ length: parallel }, () => unique('key'))
        keys.push(...batch)
        answers.push(
          ...(await Promise.all(batch.map((key) => timed(() => pay(key, { isSentOnce }))))),
        )
      } while (Date.now() - begunMs < freezeMs)
      const read = await timed(() =>
        shop.call('GET', '/bill_payments/status', {
          query: { version: '2026-07-01', transaction_id: 'bill_0000000000000000000000000000' },
          isSentOnce,
        }),
      )
      expect([503, 504]).toContain(read.status)
      expect(read.tookMs).toBeLessThan(usualMs)
    } finally {
      thaw()
    }
    // A link on which nothing comes back is left, and connecting to a process that hangs ends sooner.
    expect(answers.filter(({ status }) => status !== 504 && status !== 503)).toEqual([])
    expect(answers.some(({ status }) => status === 504)).toBe(true)
    expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(billMs)
    for (const statuses of await Promise.all(keys.map(settle))) {
      // The first call may be running by now, or its outcome be unknown.
      expect(statuses.filter((status) => ![201, 202, 409].includes(status))).toEqual([])
    }
    await expectPaidOnce(keys)
  },
  freezeMs + 2 * recoveredMs,
)

it(
  'while the back end is away a call is a 503, and the same key pays once it is back',
  async () => {
    const key = unique('key')
    await whileAway('simulator', async () => {
      await eventually(() => refusesConnections(mesh.portBase + simulatorPlace))
      const { status, text } = await pay(key, { isSentOnce })
      expect(status, text).toBe(503)
    })
    const statuses = await settle(key)
    expect(statuses.filter((status) => status !== 503 && status !== 201)).toEqual([])
    await expectPaidOnce([key])
    await mesh.ready()
  },
  2 * recoveredMs,
)

it(
  'while the ledger is away a call is a 503 or 504, and the same key pays once it is back',
  async () => {
    // The gateway remembers for some seconds that the key was accepted.
    await settle(unique('key'))
    const keys = Array.from({ length: 4 }, () => unique('key'))
    await whileAway('accounts', async () => {
      const answers = await Promise.all(keys.map((key) => pay(key, { isSentOnce })))
      for (const { status, text } of answers) expect([503, 504], text).toContain(status)
    })
    const statuses = (await Promise.all(keys.map(settle))).flat()
    expect(statuses.filter((status) => ![201, 503, 504].includes(status))).toEqual([])
    await expectPaidOnce(keys)
    await mesh.ready()
  },
  2 * recoveredMs,
)

it(
  'billing that is killed during a payment leaves a key that pays within seconds of its next start',
  async () => {
    const key = unique('key')
    const thaw = await freeze(mesh.pid('simulator'))
    try {
      const first = pay(key, { isSentOnce })
      await eventually(
        () =>
          idsOf(
            'select bill_payment_id as id from billing.bill_payment where idempotency_key = $1',
            [key],
          ),
        (ids) => expect(ids).toHaveLength(1),
      )
      process.kill(mesh.pid('billing'), 'SIGKILL')
      expect((await first).status).toBe(503)
    } finally {
      thaw()
    }
    await mesh.ready()
    const watch = startStopwatch()
    const statuses = await settle(key)
    expect(watch.elapsedMs()).toBeLessThan(releasedMs)
    expect(statuses.filter((status) => ![201, 409, 503].includes(status))).toEqual([])
    await expectPaidOnce([key])
  },
  2 * recoveredMs,
)

/** Throws while somebody listens. */
async function refusesConnections(port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('error', () => resolve())
    socket.once('connect', () => {
      socket.destroy()
      reject(new Error('it still listens'))
    })
  })
}
