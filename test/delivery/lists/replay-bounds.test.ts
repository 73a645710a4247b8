// Tests between which times a replay of many pushes runs.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  createReplayJob,
  type NewReplayJob,
} from '../../../services/delivery/store/replay-store.ts'
import { startHarness } from '../harness.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.drop())

const dayMs = 86_400_000
const url = 'https://receiver.example/'

/** A push that is created a day before the next one; when it was created. */
async function pushed(): Promise<number> {
  const [id] = await harness.push({ url, body: Buffer.from('{}') })
  harness.clock.advance(dayMs)
  const text = 'select created_at from delivery where delivery_id = $1'
  const row = await harness.db.row<{ created_at: Date }>({ name: 'test_time', text }, [id])
  return row?.created_at.getTime() ?? 0
}

function job(projectId: string) {
  const wanted: NewReplayJob = {
    projectId,
    idempotencyKey: randomUUID(),
    kind: undefined,
    origin: undefined,
    subjectId: undefined,
    states: ['exhausted', 'blocked'],
    fromAt: undefined,
    toAt: undefined,
    ratePerS: 1,
    fingerprint: Buffer.from('replay'),
  }
  return createReplayJob(harness.db, wanted)
}

it('a replay without a lower bound begins at the oldest push of its project, so that its progress can be measured', async () => {
  const oldest = await pushed()
  const middle = await pushed()
  const { fromAt, toAt } = await job(harness.projectId)
  expect(fromAt.getTime()).toBe(oldest)
  const share = (middle - fromAt.getTime()) / (toAt.getTime() - fromAt.getTime())
  expect(share).toBeGreaterThan(0.4)
  expect(share).toBeLessThan(0.6)
})

it('a replay of a project without pushes begins where it ends', async () => {
  const { fromAt, toAt } = await job(randomUUID())
  expect(fromAt).toEqual(toAt)
})
