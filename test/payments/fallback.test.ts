// Tests connectors that fail: when a charge may move to the fallback of its route, and that one delays no other.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { RouteKind } from '#gen/payweave/payments/v1/routes_pb.js'
import { sql } from '#platform/db/db.ts'
import { NotSent } from '#platform/rpc/client/not-sent.ts'
import type { BackendCall } from '../../services/payments/domain/backend-call.ts'
import { type Route, routingOf } from '../../services/payments/domain/routing.ts'
import type { Backend } from '../../services/payments/ports/backend.ts'
import { connectorsOf } from '../../services/payments/ports/backend.ts'
import { moveCalls, readCalls } from '../../services/payments/store/task-store.ts'
import { startCallMaker } from '../../services/payments/workers/calls.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { fixedKeys } from '../support/keys.ts'
import { absent, second } from './connectors.ts'
import { at, type Harness, startHarness } from './harness.ts'
import { as } from './person.ts'

const linkKeys = fixedKeys()
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({}, linkKeys)
})
afterAll(() => harness?.stop())

const lockPayment = sql(
  'test_lock_payment',
  `select from payment where payment_id = (select payment_id from payer where payer_id = $1)
   for no key update`,
)
const firstAttempts = sql(
  'test_first_attempts',
  `update task set attempts = 1, unsent_attempts = 0, next_time = clock_now() + interval '1 hour'
   where subject_id = any($1::uuid[]) and attempts = unsent_attempts`,
)

/** First calls of `count` charges of an unreachable connector; no worker makes them. */
async function firstCalls(count: number): Promise<BackendCall[]> {
  await as('operator', () =>
    harness.routes.putRoute({ key: { kind: RouteKind.CHARGE }, connector: absent }),
  )
  const payerIds: string[] = []
  while (payerIds.length < count) payerIds.push(at((await harness.create()).payers).payerId)
  for (const payerId of payerIds) {
    await eventually(async () => expect(await harness.db.run(firstAttempts, [[payerId]])).toBe(1))
  }
  const attempt = { attempts: 1, unsent_attempts: 0, reason: null }
  return readCalls(
    harness.db,
    payerIds.map((subject_id) => ({ subject_id, kind: 'announce', ...attempt })),
  )
}

const triesOf = sql(
  'test_tries',
  'select attempts, unsent_attempts as unsent from task where subject_id = $1',
)

it('a charge that its connector refused among others stays there when that cannot be reached a moment later', async () => {
  const calls = await firstCalls(2)
  const announced: number[] = []
  const withdraw = () => Promise.resolve()
  const refusing = {
    withdraw,
    announce({ length }: unknown[]) {
      announced.push(length)
      if (length > 1) return Promise.reject(new Failure('INVALID_PARAMETER', 'one is refused'))
      const cause = new NotSent()
      return Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'no connection', { cause }))
    },
  } as unknown as Backend
  const other = {
    withdraw,
    announce: () => Promise.reject(new Error('the fallback was called')),
  } as unknown as Backend
  const backends = new Map([
    [absent, refusing],
    [second, other],
  ])
  const any = { projectId: '', currency: '', channel: '', method: '' } as const
  const route: Route = { kind: 'charge', ...any, connector: absent, fallback: second }
  const { make } = startCallMaker({
    db: harness.db,
    log: silentLog,
    connectors: connectorsOf(backends, absent),
    routing: () => routingOf([route], absent),
    linkKeys,
    metrics: { fellBack: () => undefined },
    failRefund: () => Promise.reject(new Error('no refund was made')),
  })
  await make(calls)
  expect(announced).toEqual([2, 1, 1])
  for (const { subjectId } of calls) {
    expect(await harness.db.row(triesOf, [subjectId])).toEqual({ attempts: 1, unsent: 0 })
  }
})

it('a charge moves to no other connector while its payment is changed', async () => {
  const calls = await firstCalls(1)
  const move = () => moveCalls(harness.db, 'announce', calls, { from: absent, to: second })
  await harness.db.transaction(async (tx) => {
    await tx.run(lockPayment, [at(calls).subjectId])
    expect(await move()).toEqual(new Set())
  })
  expect(await move()).toEqual(new Set([at(calls).subjectId]))
})

const openAttempts = sql(
  'test_open_attempts',
  `insert into attempt (attempt_id, project_id, payment_id, payer_id, connector, create_time, next_enquiry_time)
   select gen_random_uuid(), project_id, payment_id, payer_id, $2, clock_now(), clock_now()
   from payer, generate_series(1, $3::integer) where payer_id = $1`,
)

it('a connector that does not answer enquiries delays those of no other', async () => {
  const { backend, secondBackend } = harness
  const { payerId } = at((await harness.create()).payers)
  const answering = Promise.withResolvers<void>()
  backend.state.enquiriesAfter = answering.promise
  const before = backend.received.enquiries
  // One more than are asked about at once.
  await harness.db.run(openAttempts, [payerId, 'simulator', 5])
  await eventually(() => expect(backend.received.enquiries).toBe(before + 4))
  await harness.db.run(openAttempts, [payerId, second, 1])
  await eventually(() => expect(secondBackend.received.enquiries).toBe(1))
  // Not after the enquiries before it: the fifth still waits.
  expect(backend.received.enquiries).toBe(before + 4)
  answering.resolve()
})
