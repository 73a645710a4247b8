// The test clock against a real PostgreSQL: what it moves, what it leaves, and who may move it.
import { create } from '@bufbuild/protobuf'
import { createHandlerContext } from '@connectrpc/connect'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  AdvanceClockRequestSchema,
  ClockService,
  GetClockRequestSchema,
} from '#gen/payweave/clock/v1/clock_pb.js'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type Database, sql } from '../db/db.ts'
import { businessTime } from '../testing/business-time.ts'
import { checkClock, clockService } from './clock-service.ts'

const migrations = new URL('../db/migrations/clock', import.meta.url).pathname
const hourMs = 3_600_000
const noContext = createHandlerContext({
  service: ClockService,
  method: ClockService.method.getClock,
  protocolName: 'test',
  requestMethod: 'POST',
  url: 'http://test',
})
const times = sql(
  'times',
  `select round(extract(epoch from business_now() - clock_now()) * 1000)::float8 as "aheadMs",
     round(extract(epoch from clock_now() - statement_timestamp()) * 1000)::float8 as "leasesAheadMs"`,
)

let here: TestDatabase
let db: Database

beforeAll(async () => {
  here = await createTestDatabase('clocked', [migrations])
  db = here.open()
})
afterAll(() => here.drop())

it('the test clock moves business time on every connection at once, statements planned before included, and nothing else', async () => {
  const there = await createTestDatabase('clocked', [migrations])
  const other = here.open({ poolSize: 1 })
  const elsewhere = there.open()
  const clock = businessTime({ db })
  expect(await other.row(times, [])).toEqual({ aheadMs: 0, leasesAheadMs: 0 })
  expect((await clock.getClock({})).clock?.aheadMs).toBe(0n)

  const moved = await clock.advanceClock({ aheadMs: BigInt(hourMs) })
  expect(moved.clock?.aheadMs).toBe(BigInt(hourMs))
  expect(Number(moved.clock?.businessTime?.seconds) * 1_000 - Date.now()).toBeGreaterThan(
    hourMs - 60_000,
  )
  expect(await other.row(times, [])).toEqual({ aheadMs: hourMs, leasesAheadMs: 0 })
  expect(await elsewhere.row(times, [])).toEqual({ aheadMs: 0, leasesAheadMs: 0 })
  await there.drop()
})

it('the test clock never goes back, and of moves at the same time the furthest counts', async () => {
  const moves: number[] = []
  const clock = businessTime({ db, onMoved: async (_, movedMs) => void moves.push(movedMs) })
  const before = Number((await clock.getClock({})).clock?.aheadMs)
  await Promise.all(
    [3, 1, 4, 2].map((hours) => clock.advanceClock({ aheadMs: BigInt(before + hours * hourMs) })),
  )
  const { clock: after } = await clock.advanceClock({ aheadMs: 0n })
  expect(Number(after?.aheadMs)).toBe(before + 4 * hourMs)
  // Repeats and moves back bring nothing forward.
  expect(moves.reduce((sum, ms) => sum + ms, 0)).toBe(4 * hourMs)
  expect(moves.every((ms) => ms > 0)).toBe(true)
})

it('the test clock stays where it is when what follows from the move fails', async () => {
  const clock = businessTime({
    db,
    onMoved: () => Promise.reject(new Error('not brought forward')),
  })
  const before = (await clock.getClock({})).clock?.aheadMs ?? 0n
  await expect(clock.advanceClock({ aheadMs: before + 1_000n })).rejects.toThrow('internal error')
  expect((await clock.getClock({})).clock?.aheadMs).toBe(before)
})

it('the test clock is refused where SANDBOX_CLOCK is 0', async () => {
  const { getClock, advanceClock } = clockService({ db, isMovable: false })
  const refused = { reason: 'PERMISSION_DENIED' }
  const before = await db.row(times, [])
  const ask = create(AdvanceClockRequestSchema, { aheadMs: 10n ** 11n })
  await expect(async () => advanceClock(ask, noContext)).rejects.toMatchObject(refused)
  const look = create(GetClockRequestSchema)
  await expect(async () => getClock(look, noContext)).rejects.toMatchObject(refused)
  expect(await db.row(times, [])).toEqual(before)
})

it('business time is looked up in indexes, and a statement that has it reads no table for it', async () => {
  const admin = here.open({ service: undefined, readsWholeTables: false })
  await admin.run(sql('make_due', 'create table clocked.due (at timestamptz)'), [])
  await admin.run(sql('index_due', 'create index due_at on clocked.due (at)'), [])
  await admin.run(sql('grant_due', 'grant select on clocked.due to payweave_clocked'), [])
  const plan = sql('plan_due', 'explain (verbose) select at from due where at <= business_now()')
  const lines = await db.rows<{ 'QUERY PLAN': string }>(plan, [])
  const text = lines.map((line) => line['QUERY PLAN']).join('\n')
  expect(text).toMatch(/Index Only Scan using due_at/)
  expect(text).toMatch(/Index Cond: \(due.at <= .*statement_timestamp\(\)/)
  expect(text).not.toMatch(/business_now|clock_now|clock_ahead|SubPlan/)
})

it('a database whose test clock was moved is refused where there is no test clock', async () => {
  const sandbox = await createTestDatabase('clocked', [migrations])
  const moved = sandbox.open()
  await checkClock({ db: moved, isMovable: false })
  await businessTime({ db: moved }).advanceClock({ aheadMs: 1n })
  await expect(checkClock({ db: moved, isMovable: false })).rejects.toThrow('is 1 ms ahead')
  await checkClock({ db: moved, isMovable: true })
  await sandbox.drop()
})
