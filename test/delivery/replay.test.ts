// Tests that pushes can be replayed, one or many, once for each request, also across crashes.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '#platform/db/db.ts'
import { findEndpoint, listEndpoints } from '../../services/delivery/store/endpoint-store.ts'
import { cancelDelivery, replayDelivery } from '../../services/delivery/store/operate-store.ts'
import {
  cancelReplayJob,
  createReplayJob,
  findReplayJob,
  listReplayJobs,
  type NewReplayJob,
  pauseReplayJob,
  resumeReplayJob,
  stepReplay,
} from '../../services/delivery/store/replay-store.ts'
import { startReplayRunner } from '../../services/delivery/workers/replay-runner.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startHarness } from './harness.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

const limits = { scan: 50, perS: 4 }
const url = 'https://receiver.example/'

let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver

beforeAll(async () => {
  harness = await startHarness()
  receiver = await startReceiver()
})
afterEach(async () => {
  await harness.reset()
  await harness.asOwner('truncate delivery.replay_job, delivery.replay_request')
  receiver.requests.length = 0
  receiver.answer(status(200))
})
afterAll(async () => {
  await receiver.close()
  await harness.drop()
})

async function endAs(state: string, ids: string[]): Promise<void> {
  await harness.asOwner(
    `update delivery.delivery set state = '${state}', next_attempt_at = null, attempts = 3,
       failures = 3, ended_at = now() where delivery_id in (${ids.map((id) => `'${id}'`).join()})`,
  )
}

async function givenUp(count: number, to = url, state = 'exhausted'): Promise<string[]> {
  const ids = await harness.push(
    ...Array.from({ length: count }, (_, n) => ({ url: to, body: Buffer.from(`{"n":${n}}`) })),
  )
  await endAs(state, ids)
  return ids
}

const replay = (id: string, requestId = randomUUID(), projectId = harness.projectId) =>
  replayDelivery(harness.db, projectId, id, requestId)

function job(changes: Partial<NewReplayJob> = {}) {
  harness.clock.advance(10)
  return createReplayJob(harness.db, {
    projectId: harness.projectId,
    idempotencyKey: randomUUID(),
    kind: undefined,
    origin: undefined,
    subjectId: undefined,
    states: ['exhausted', 'blocked'],
    fromAt: undefined,
    toAt: undefined,
    ratePerS: 1_000,
    fingerprint: Buffer.from('replay'),
    ...changes,
  })
}

const jobNow = async (jobId: string) => findReplayJob(harness.db, harness.projectId, jobId)

async function runThrough(jobId: string): Promise<void> {
  while ((await jobNow(jobId))?.state === 'running') {
    await stepReplay(harness.db, limits)
    harness.clock.advance(1_000)
  }
}

describe('a push that was given up', () => {
  it('a push that was given up is sent again with the same bytes in a round of its own, once for each request id', async () => {
    receiver.answer(status(500))
    harness.worker({ scheduleS: [] })
    const [id = ''] = await harness.push({ url: receiver.url, body: Buffer.from('{"n":7}') })
    await eventually(async () => expect(await harness.state(id)).toBe('exhausted'))

    receiver.answer(status(200))
    const requestId = randomUUID()
    const answers = await Promise.all([replay(id, requestId), replay(id, requestId)])
    expect(answers.map(({ round }) => round)).toEqual([2, 2])
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect((await replay(id, requestId)).state).toBe('delivered')
    expect(receiver.requests.map(({ body }) => body)).toEqual(['{"n":7}', '{"n":7}'])
    expect(await harness.attempts(id)).toMatchObject([
      { number: 1, round: 1, outcome: 'refused', status: 500 },
      { number: 2, round: 2, outcome: 'delivered' },
    ])
  })

  it('a push that was given up has the whole schedule again', async () => {
    receiver.answer(status(500))
    const [id = ''] = await givenUp(1, receiver.url)
    await replay(id)
    harness.worker({ scheduleS: [3_600] })
    await eventually(() => expect(receiver.requests.length).toBe(1))
    await eventually(async () => expect(await harness.state(id)).toBe('pending'))
    expect(await harness.delivery(id)).toMatchObject({ round: 2, attempts: 4 })
  })

  it.each(['delivered', 'gone', 'blocked', 'cancelled'])(
    'a push that was given up or is %s can be sent again',
    async (end) => {
      const [id = ''] = await givenUp(1, url, end)
      expect(await replay(id)).toMatchObject({ state: 'pending', round: 2 })
    },
  )

  it('a push that was given up is not sent again for another project, nor by a request id of another push', async () => {
    const [first = '', second = ''] = await givenUp(2)
    await expect(replay(first, randomUUID(), randomUUID())).rejects.toMatchObject({
      reason: 'DELIVERY_NOT_FOUND',
    })
    const requestId = randomUUID()
    await replay(first, requestId)
    await expect(replay(second, requestId)).rejects.toMatchObject({
      reason: 'IDEMPOTENCY_KEY_CONFLICT',
    })
    expect(await harness.state(second)).toBe('exhausted')
  })

  it('a pending push is not replayed, and its request id stays free', async () => {
    const [id = ''] = await harness.push({ url })
    const requestId = randomUUID()
    await expect(replay(id, requestId)).rejects.toMatchObject({ reason: 'DELIVERY_NOT_ENDED' })
    await endAs('exhausted', [id])
    expect((await replay(id, requestId)).round).toBe(2)
  })
})

describe('a cancelled push', () => {
  const cancel = (id: string) => cancelDelivery(harness.db, harness.projectId, id)

  it('a cancelled push is never sent, however often it is cancelled', async () => {
    const [id = ''] = await harness.push({ url: receiver.url })
    expect((await cancel(id)).state).toBe('cancelled')
    expect((await cancel(id)).state).toBe('cancelled')
    const [other = ''] = await harness.push({ url: receiver.url })
    harness.worker()
    await eventually(async () => expect(await harness.state(other)).toBe('delivered'))
    expect(receiver.requests).toHaveLength(1)
  })

  it('a cancelled push stays cancelled when its POST under way ends', async () => {
    const cancelled = Promise.withResolvers<void>()
    receiver.answer((_request, response) => void cancelled.promise.then(() => response.end()))
    harness.worker()
    const [id = ''] = await harness.push({ url: receiver.url })
    await eventually(() => expect(receiver.requests.length).toBe(1))
    await cancel(id)
    cancelled.resolve()
    await eventually(async () => expect((await harness.attempts(id))[0]?.outcome).toBe('delivered'))
    expect(await harness.state(id)).toBe('cancelled')
  })

  it('a cancelled push cannot be one that has ended otherwise', async () => {
    const [id = ''] = await givenUp(1)
    await expect(cancel(id)).rejects.toMatchObject({ reason: 'DELIVERY_ENDED' })
  })
})

describe('a replay of many', () => {
  it('a bulk replay takes the pushes of its filter, each once, past everything between', async () => {
    const wanted = await givenUp(120, url)
    await givenUp(60, url, 'delivered')
    const later = await givenUp(30, url, 'blocked')
    const foreign = randomUUID()
    const [alien = ''] = await harness.push({ url, projectId: foreign })
    await endAs('exhausted', [alien])
    const { jobId } = await job()
    await runThrough(jobId)
    expect(await jobNow(jobId)).toMatchObject({ state: 'done', replayed: 150n })
    expect(await harness.count("state = 'pending' and round = 2")).toBe(150)
    expect(await harness.count("state = 'delivered' and round = 1")).toBe(60)
    expect(await harness.count(`project_id = '${foreign}' and round = 1`)).toBe(1)
    expect([...wanted, ...later]).toHaveLength(150)
  })

  it('a bulk replay filters by kind and by the time at which the event was taken in', async () => {
    await givenUp(2)
    harness.clock.advance(10_000)
    const fromAt = harness.clock.now()
    const [notify = '', callback = ''] = await harness.push({ url }, { url, kind: 'callback' })
    await endAs('exhausted', [notify, callback])
    harness.clock.advance(10_000)
    const toAt = harness.clock.now()
    harness.clock.advance(10_000)
    await givenUp(2)
    await runThrough((await job({ fromAt, toAt, kind: 'callback' })).jobId)
    expect(await harness.count('round = 2')).toBe(1)
    expect(await harness.state(callback)).toBe('pending')
  })

  it('a bulk replay of a receiver or of a payment takes no others, runs on after a pause, and is not for the previous release', async () => {
    const other = 'https://other.example/'
    await givenUp(3)
    await givenUp(2, other)
    const lane = await job({ origin: 'https://other.example' })
    const stored = () =>
      harness.asOwner<{ state: string }>(
        `select state from delivery.replay_job where job_id = '${lane.jobId}'`,
      )
    expect(lane).toMatchObject({ state: 'running', origin: 'https://other.example' })
    expect(await stored()).toEqual([{ state: 'narrowed' }])
    await pauseReplayJob(harness.db, harness.projectId, lane.jobId)
    expect(await jobNow(lane.jobId)).toMatchObject({ state: 'paused' })
    expect(await stepReplay(harness.db, limits)).toBeUndefined()
    await resumeReplayJob(harness.db, harness.projectId, lane.jobId)
    expect(await stored()).toEqual([{ state: 'narrowed' }])
    await runThrough(lane.jobId)
    expect(await jobNow(lane.jobId)).toMatchObject({ state: 'done', replayed: 2n })
    expect(await harness.count('round = 2')).toBe(2)
    expect(await harness.count(`round = 2 and url = '${other}'`)).toBe(2)

    await givenUp(2)
    const [row] = await harness.asOwner<{ subjectId: string }>(
      `select subject_id as "subjectId" from delivery.delivery where state = 'exhausted' limit 1`,
    )
    const subjectId = row?.subjectId ?? ''
    const of = await harness.count(`state = 'exhausted' and subject_id = '${subjectId}'`)
    const subject = await job({ subjectId })
    await runThrough(subject.jobId)
    expect(await jobNow(subject.jobId)).toMatchObject({
      state: 'done',
      replayed: BigInt(of),
      subjectId,
    })
    const cancelled = await job({ subjectId })
    await cancelReplayJob(harness.db, harness.projectId, cancelled.jobId)
    expect(await jobNow(cancelled.jobId)).toMatchObject({ state: 'cancelled' })
  })

  it('a bulk replay requested twice is one, and another request under its key is refused', async () => {
    await givenUp(3)
    const idempotencyKey = 'key-1'
    const [first, second] = await Promise.all([job({ idempotencyKey }), job({ idempotencyKey })])
    expect(second.jobId).toBe(first.jobId)
    await runThrough(first.jobId)
    const third = await job({ idempotencyKey })
    expect(third).toMatchObject({ jobId: first.jobId, state: 'done', replayed: 3n })
    await expect(
      job({ idempotencyKey, fingerprint: Buffer.from('another') }),
    ).rejects.toMatchObject({ reason: 'IDEMPOTENCY_KEY_CONFLICT' })
  })

  it('a bulk replay keeps its rate', async () => {
    await givenUp(4)
    await job({ ratePerS: 4 })
    const beforeMs = harness.clock.now().getTime()
    expect(await stepReplay(harness.db, limits)).toBe(1)
    const [row] = await harness.asOwner<{ nextStepAt: Date }>(
      'select next_step_at as "nextStepAt" from delivery.replay_job',
    )
    const nextMs = row?.nextStepAt.getTime() ?? 0
    expect(nextMs - beforeMs).toBeGreaterThanOrEqual(249)
    expect(nextMs - harness.clock.now().getTime()).toBeLessThanOrEqual(250)
    // However long this machine takes, it is not yet time, and then it is.
    harness.clock.advance(-60_000)
    expect(await stepReplay(harness.db, limits)).toBeUndefined()
    harness.clock.advance(60_250)
    expect(await stepReplay(harness.db, limits)).toBe(1)
  })

  it('a bulk replay does not take what it has replayed and failed again', async () => {
    const ids = await givenUp(3)
    const { jobId } = await job()
    await stepReplay(harness.db, limits)
    await endAs('exhausted', ids)
    await runThrough(jobId)
    expect(await harness.count('round = 2')).toBe(3)
  })

  it('a cancelled bulk replay stops where it is and stays cancelled', async () => {
    await givenUp(10)
    const { jobId } = await job({ ratePerS: 4 })
    await stepReplay(harness.db, limits)
    await cancelReplayJob(harness.db, harness.projectId, jobId)
    harness.clock.advance(60_000)
    expect(await stepReplay(harness.db, limits)).toBeUndefined()
    await cancelReplayJob(harness.db, harness.projectId, jobId)
    expect(await jobNow(jobId)).toMatchObject({ state: 'cancelled', replayed: 1n })
    expect(await harness.count('round = 2')).toBe(1)
    expect(await findReplayJob(harness.db, randomUUID(), jobId)).toBeUndefined()
  })

  it('a paused bulk replay stands still, goes on where it was, and can be cancelled instead', async () => {
    await givenUp(3)
    const { projectId, db } = harness
    const { jobId } = await job({ ratePerS: 4 })
    await stepReplay(db, limits)
    await pauseReplayJob(db, projectId, jobId)
    harness.clock.advance(60_000)
    expect(await stepReplay(db, limits)).toBeUndefined()
    expect(await jobNow(jobId)).toMatchObject({ state: 'paused', replayed: 1n, endedAt: null })
    await resumeReplayJob(db, randomUUID(), jobId)
    expect(await jobNow(jobId)).toMatchObject({ state: 'paused' })
    await resumeReplayJob(db, projectId, jobId)
    expect(await stepReplay(db, limits)).toBe(1)
    await pauseReplayJob(db, projectId, jobId)
    await cancelReplayJob(db, projectId, jobId)
    await pauseReplayJob(db, projectId, jobId)
    await resumeReplayJob(db, projectId, jobId)
    expect(await jobNow(jobId)).toMatchObject({ state: 'cancelled', replayed: 2n })
  })

  it('the bulk replays of a project are listed, the newest first, page after page', async () => {
    const { projectId, db } = harness
    const ids = [await job(), await job(), await job()].map(({ jobId }) => jobId).toReversed()
    await job({ projectId: randomUUID() })
    const first = await listReplayJobs(db, projectId, undefined, 2)
    const before = first.map(({ createdAt, jobId }) => ({ time: createdAt, id: jobId })).at(-1)
    const second = await listReplayJobs(db, projectId, before, 2)
    expect([...first, ...second].map(({ jobId }) => jobId)).toEqual(ids)
    const [jobId = ''] = ids
    await pauseReplayJob(db, projectId, jobId)
    expect(await listReplayJobs(db, projectId, undefined, 9, 'paused')).toMatchObject([{ jobId }])
  })

  it('a bulk replay whose worker dies within a step continues on another, and sends each push once', async () => {
    const ids = await givenUp(40)
    const { jobId } = await job({ ratePerS: 40 })
    expect(await stepReplay(harness.db, limits)).toBe(10)
    harness.clock.advance(1_000)
    const dying = harness.database.open({ testClock: harness.clock, poolSize: 1 })
    const backend = sql('backend', 'select pg_backend_pid() as pid')
    const { pid } = (await dying.row<{ pid: number }>(backend, [])) ?? { pid: 0 }
    await harness.db.transaction(async (tx) => {
      // Holds the step up between its first statement and its last.
      const hold = "select delivery_id from delivery where state = 'exhausted' for update"
      await tx.rows(sql('hold_deliveries', hold), [])
      const step = stepReplay(dying, limits).catch(() => 'died')
      const waits = `select 1 as waits from pg_stat_activity
        where pid = ${pid} and wait_event_type = 'Lock'`
      await eventually(async () => expect((await harness.asOwner(waits)).length).toBe(1))
      await harness.asOwner(`select pg_terminate_backend(${pid})`)
      expect(await step).toBe('died')
    })
    expect(await harness.count('round = 2')).toBe(10)
    expect(await jobNow(jobId)).toMatchObject({ replayed: 10n })
    await runThrough(jobId)
    expect(await harness.count('round = 2')).toBe(ids.length)
    expect(await jobNow(jobId)).toMatchObject({ state: 'done', replayed: 40n })
  })

  it('a bulk replay on which several replicas work sends each push once', async () => {
    await givenUp(300, receiver.url)
    const runners = [1, 2, 3].map(() =>
      startReplayRunner({ db: harness.db, log: silentLog, onDue: () => undefined }),
    )
    const { jobId } = await job()
    for (const runner of runners) runner.notify()
    harness.worker()
    await eventually(async () => expect((await jobNow(jobId))?.state).toBe('done'), 10_000)
    await eventually(
      async () => expect(await harness.count("state = 'delivered'")).toBe(300),
      10_000,
    )
    await Promise.all(runners.map((runner) => runner.close()))
    expect(receiver.requests).toHaveLength(300)
    expect(await harness.count('round = 2')).toBe(300)
  })
})

describe('a receiver', () => {
  it('a receiver is shown with what waits for it, what is under way and its breaker', async () => {
    await harness.push({ url }, { url }, { url: 'https://other.example/' })
    await harness.asOwner(
      `update delivery.endpoint set breaker = 'open', breaker_until = now() + interval '1 minute'
       where origin = 'https://receiver.example'`,
    )
    const shown = await listEndpoints(harness.db, harness.projectId, undefined, 10)
    expect(shown.map(({ origin, pending }) => [origin, pending])).toEqual([
      ['https://other.example', 1],
      ['https://receiver.example', 2],
    ])
    const [, busy] = shown
    expect(busy).toMatchObject({ breaker: 'open', limitNow: 2, sending: 0 })
    expect(busy?.oldestDueAt).toBeInstanceOf(Date)
    expect(await findEndpoint(harness.db, randomUUID(), busy?.endpointId ?? '')).toBeUndefined()
    const after = { origin: 'https://other.example', kind: 'notify' } as const
    expect(await listEndpoints(harness.db, harness.projectId, after, 10)).toHaveLength(1)
  })
})
