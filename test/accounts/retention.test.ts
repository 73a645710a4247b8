// Tests which customer data is deleted after a month, and which is kept.
import { hash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LookupType, SessionState } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { sql } from '#platform/db/db.ts'
import { oldRows } from '../../services/accounts/customers/store/retention-store.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

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
const open = () => harness.open({ ...lookup, requestId: randomUUID(), fingerprint })
const left = () => harness.db.row<Left>(count, [])

async function deleteAll(limit: number): Promise<number[]> {
  const { sessions, requests, tasks } = oldRows
  return [
    await sessions(harness.db, limit),
    await requests(harness.db, limit),
    await tasks(harness.db, limit),
  ]
}

it('old sessions, request ids and finished tasks are deleted in batches, spent sessions stay', async () => {
  const { session: spent } = await open()
  await harness.db.run(spend, [])
  for (let opened = 0; opened < 3; opened += 1) {
    await open()
  }
  await harness.create()
  await eventually(async () => expect((await left())?.tasks).toBe(1))
  harness.testClock.advance(29 * dayMs)
  expect(await deleteAll(10)).toEqual([0, 0, 0])
  harness.testClock.advance(2 * dayMs)
  expect(await deleteAll(2)).toEqual([2, 2, 1])
  expect(await deleteAll(10)).toEqual([1, 2, 0])
  expect(await left()).toEqual({ sessions: 1, requests: 0, tasks: 0 })
  const again = await harness.accounts.resolveSession({
    projectId: harness.projects.demo,
    institutionName: 'Demo Wallet',
    token: { case: 'sessionToken', value: spent?.sessionToken ?? '' },
  })
  expect(again.state).toBe(SessionState.SPENT)
})
