// Kills billing and the simulator at every step of bill payments; how many rounds is set by KILL_BILL_ROUNDS.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { type Answer, type Json, type Merchant, merchant, unique } from '../harness.ts'

const rounds = Number(process.env['KILL_BILL_ROUNDS'] ?? '4')
// The biller's time and the margin of a claim, then the enquiries.
const settleMs = 180_000
/** Between two calls of an integrator whose answer was unclear. */
const againMs = 500
// A round may wait for calls that nobody answers any more, and for the start of a part.
const timeoutMs = rounds * 60_000 + 2 * settleMs
const perRound = 6
// From before the call arrives to after its outcome is written.
const maxDelayMs = 120
const expectedCodes = new Set(['CUSTOMER_REFERENCE_REJECTED', 'UNCONFIRMED_NOT_FOUND'])

// With the usual ones, which end after 17 s, the outcome is left to people when parts come up slowly.
const settings = { ENQUIRY_SCHEDULE_S: '2,5,10,10,10,10,10' }

let mesh: Mesh
let shop: Merchant

beforeAll(async () => {
  mesh = await startMesh({ name: 'kill-bills', settings })
  shop = merchant(mesh)
})
afterAll(() => mesh.remove())

/** One payment that a client requests, and the last response to it. */
type Wanted = { key: string; body: Json; refused: boolean; answer: Answer | undefined }

function wanted(index: number): Wanted {
  const refused = index % 3 === 2
  const customer_reference = refused ? '12345670402' : '12345678'
  const body = {
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: '10.00',
    currency: 'USD',
    customer_reference,
  }
  return { key: unique('key'), body, refused, answer: undefined }
}

async function pay(one: Wanted): Promise<void> {
  const query = { version: '2026-07-01' }
  const headers = { 'Idempotency-Key': one.key }
  const answer = await shop
    .call('POST', '/bill_payments/pay', { query, headers, body: one.body })
    .catch(() => undefined)
  if (answer !== undefined) one.answer = answer
}

function isSettled({ answer }: Wanted): boolean {
  return answer?.status === 201
}

/** Asks again until everything has ended, as an integrator does. */
async function settle(all: Wanted[]): Promise<void> {
  const open = () => all.filter((one) => !isSettled(one))
  await eventually(async () => {
    await Promise.all(open().map(pay))
    if (open().length > 0) await sleep(againMs)
    expect(open()).toEqual([])
  }, settleMs)
}

it(
  'across process kills, a key has one payment, at most one execution, and money moved accordingly',
  async () => {
    const all: Wanted[] = []
    for (let round = 0; round < rounds; round++) {
      const batch = Array.from({ length: perRound }, (_, index) => wanted(index))
      all.push(...batch)
      const calls = batch.map(pay)
      await sleep(Math.random() * maxDelayMs)
      const victim = mesh.processes()[round % 2 === 0 ? 'billing' : 'simulator']
      if (victim !== undefined) process.kill(victim.pid, 'SIGKILL')
      await Promise.all(calls)
      await mesh.ready()
    }
    await settle(all)

    const payments = await mesh.rows<{ key: string; id: string; state: string; code: string }>(
      `select idempotency_key as key, bill_payment_id as id, state, failure_code as code
       from billing.bill_payment`,
    )
    expect(payments).toHaveLength(all.length)
    const executions = await mesh.rows<{ id: string }>(
      `select subject_id as id from simulator.execution where kind = 'bill'`,
    )
    const executed = executions.map(({ id }) => id).toSorted()
    const succeeded = payments.filter(({ state }) => state === 'succeeded').map(({ id }) => id)
    expect(executed).toEqual(succeeded.toSorted())
    const received = all.map(({ key, answer }) => [key, answer?.body['normalized_status']])
    const ends = { succeeded: 'SUCCESS', failed: 'FAILED' } as Record<string, string>
    expect(new Map(received as [string, unknown][])).toEqual(
      new Map(payments.map(({ key, state }) => [key, ends[state]])),
    )
    const refusedKeys = new Set(all.filter(({ refused }) => refused).map(({ key }) => key))
    const wrongly = payments.filter(({ key, state, code }) =>
      state === 'succeeded' ? refusedKeys.has(key) : !expectedCodes.has(code),
    )
    expect(wrongly).toEqual([])
    expect(succeeded.length).toBeGreaterThan(0)
    await expectLedger(succeeded.length)
  },
  timeoutMs,
)

/** The float paid for every success and nothing else, and no hold is left. */
async function expectLedger(successes: number): Promise<void> {
  await eventually(
    () =>
      mesh.rows(
        `select 1 from billing.bill_payment where settle_time is not null
         union all select 1 from billing.abandoned_hold`,
      ),
    (open) => expect(open).toEqual([]),
    settleMs,
  )
  const [money] = await mesh.rows<{ paid: string | null }>(
    `select sum(amount_minor)::text as paid from accounts.posting
     where transfer_id in (select bill_payment_id from billing.bill_payment) and amount_minor < 0`,
  )
  expect(money?.paid).toBe(String(-1_000 * successes))
  const held = await mesh.rows(
    `select hold_id from accounts.hold where state = 'open' and method = 'bill_payment'`,
  )
  expect(held).toEqual([])
}
