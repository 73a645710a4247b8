// Tests which customer data is deleted after a month, and which is kept.
import { hash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LookupType, SessionState } from '#gen/accounts/v1/accounts_pb.js'
import { sql } from '#platform/db/db.ts'
import { oldRows } from '../../services/accounts/customers/store/retention-store.ts'
import { eventually } from '../support/eventually.ts'
import { startWorld, type World } from './harness.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const dayMs = 86_400_000
const lookup = { lookupType: LookupType.MOBILE, lookupValue: '+12025550100' }
const spend = sql(
  'test_spend',
  `update session set consumed_by = gen_random_uuid(), consume_time = clock_now()
   where session_id = (select session_id from session order by session_id limit 1)`,
)
const count = sql(
  'test_left_behind',
  `select (select count(*) from session)::integer as sessions,
     (select count(*) from session_request)::integer as requests,
     (select count(*) from backend_task where done_time is not null)::integer as tasks`,
)
type Left = { sessions: number; requests: number; tasks: number }
const fingerprint = hash('sha256', 'a look-up', 'buffer')
const open = () => world.open({ ...lookup, requestId: randomUUID(), fingerprint })
const left = () => world.db.row<Left>(count, [])

async function deleteAll(limit: number): Promise<number[]> {
  const { sessions, requests, tasks } = oldRows
  return [
    await sessions(world.db, limit),
    await requests(world.db, limit),
    await tasks(world.db, limit),
  ]
}

it('old sessions, request ids and finished tasks are deleted in batches, spent sessions stay', async () => {
  const { session: spent } = await open()
  await world.db.run(spend, [])
  for (let opened = 0; opened < 3; opened += 1) {
    await open()
  }
  await world.create()
  await eventually(async () => expect((await left())?.tasks).toBe(1))
  world.testClock.advance(29 * dayMs)
  expect(await deleteAll(10)).toEqual([0, 0, 0])
  world.testClock.advance(2 * dayMs)
  expect(await deleteAll(2)).toEqual([2, 2, 1])
  expect(await deleteAll(10)).toEqual([1, 2, 0])
  expect(await left()).toEqual({ sessions: 1, requests: 0, tasks: 0 })
  const again = await world.accounts.resolveSession({
    projectId: world.projects.demo,
    institutionName: 'Demo Wallet',
    token: { case: 'sessionToken', value: spent?.sessionToken ?? '' },
  })
  expect(again.state).toBe(SessionState.SPENT)
})
