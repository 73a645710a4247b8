// Shows that nothing of a paused lane is sent, fresh or due, that all of it is sent once it is resumed, and who did both.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { randomId } from '#core/identity/id.ts'
import { DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  type Endpoint,
  ListAllEndpointsRequestSchema,
  ListEndpointChangesRequestSchema,
  ListEndpointsRequestSchema,
  PauseEndpointRequestSchema,
  ResumeEndpointRequestSchema,
} from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { sql } from '#platform/db/db.ts'
import { type Caller, runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { endpointService } from '../../../services/delivery/api/replays.ts'
import {
  countLanesThat,
  readOldestDueS,
  readOldestReadyS,
} from '../../../services/delivery/store/backlog-store.ts'
import { claimDue, nextDueMs } from '../../../services/delivery/store/claim-store.ts'
import { scheduleForgottenLanes } from '../../../services/delivery/store/lease-store.ts'
import type { DeliveryWorker } from '../../../services/delivery/workers/worker.ts'
import { eventually } from '../../support/eventually.ts'
import { startHarness } from '../harness.ts'
import { type Receiver, startReceiver } from '../receiver.ts'

const resumed = sql('test_resume', 'update endpoint set paused_at = null where endpoint_id = $1')
const waits = sql(
  'test_waits',
  `select pid from pg_locks join pg_stat_activity using (pid)
   where datname = current_database() and not granted`,
)

let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver
beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  await receiver?.close()
  await harness.reset()
})
afterAll(() => harness?.drop())

const context = {} as HandlerContext
const caller: Caller = { kind: 'bearer', name: 'on-call' }

function serviceFor(worker?: DeliveryWorker) {
  const service = endpointService(harness.db, () => worker?.notify())
  const { projectId } = harness
  const as = <T>(call: () => T) =>
    runWithContext({ requestId: randomId(), traceparent: newTraceparent(), caller }, call)
  return {
    pause: (endpointId: string, note = '') =>
      as(async () => {
        const wanted = create(PauseEndpointRequestSchema, { projectId, endpointId, note })
        return service.pauseEndpoint(wanted, context)
      }),
    resume: (endpointId: string) =>
      as(async () =>
        service.resumeEndpoint(
          create(ResumeEndpointRequestSchema, { projectId, endpointId }),
          context,
        ),
      ),
    changes: (more: object = {}) =>
      as(async () =>
        service.listEndpointChanges(
          create(ListEndpointChangesRequestSchema, { projectId, ...more }),
          context,
        ),
      ),
    lanes: (onlyPaused: boolean) =>
      as(async () => {
        const wanted = create(ListEndpointsRequestSchema, { projectId, onlyPaused })
        return (await service.listEndpoints(wanted, context)).endpoints as Endpoint[]
      }),
    all: async (onlyPaused: boolean) => {
      const wanted = create(ListAllEndpointsRequestSchema, { onlyPaused })
      return (await service.listAllEndpoints(wanted, context)).endpoints as Endpoint[]
    },
  }
}

it('nothing of a paused lane is sent, fresh or due, and all of it once it is resumed', async () => {
  receiver = await startReceiver()
  const url = `${receiver.url}/hook`
  const [first = ''] = await harness.push({ url })
  const worker = harness.worker()
  const delivered = (id: string) =>
    eventually(async () => expect(await harness.state(id)).toBe('delivered'))
  await delivered(first)
  const { pause, resume, lanes } = serviceFor(worker)
  const [lane] = await lanes(false)
  await pause(lane?.endpointId ?? '')
  // The worker knows the lane and has slots for it: without the pause it would post at once.
  const [fresh = ''] = await harness.pushDirectly(worker, { url })
  const [due = ''] = await harness.push({ url: `${receiver.url}/other` })
  expect([await harness.state(fresh), await harness.state(due)]).toEqual(['pending', 'pending'])
  // The other kind has a lane of its own, which goes on: the worker has claimed after the pause.
  const [other = ''] = await harness.push({ url, kind: 'callback' })
  await delivered(other)
  expect([await harness.state(fresh), await harness.state(due)]).toEqual(['pending', 'pending'])
  expect(receiver.requests).toHaveLength(2)
  await resume(lane?.endpointId ?? '')
  await Promise.all([delivered(fresh), delivered(due)])
  expect(receiver.requests).toHaveLength(4)
  const [again = ''] = await harness.pushDirectly(worker, { url })
  await delivered(again)
})

it('a push that is stored while its lane is being resumed waits for that, and is sent', async () => {
  receiver = await startReceiver()
  const url = `${receiver.url}/hook`
  const [first = ''] = await harness.push({ url })
  const worker = harness.worker()
  await eventually(async () => expect(await harness.state(first)).toBe('delivered'))
  const { pause, lanes } = serviceFor(worker)
  const [lane] = await lanes(false)
  await pause(lane?.endpointId ?? '')
  let pushed: Promise<string[]> | undefined
  await harness.db.transaction(async (tx) => {
    await tx.run(resumed, [lane?.endpointId])
    pushed = harness.pushDirectly(worker, { url })
    await eventually(async () => expect(await harness.db.rows(waits, [])).not.toEqual([]))
  })
  const [fresh = ''] = (await pushed) ?? []
  await eventually(async () => expect(await harness.state(fresh)).toBe('delivered'))
})

it('a paused lane is claimed by nobody, not even by a process that knows of its backlog, and is no backlog itself', async () => {
  await harness.push({ url: 'https://a.example/hook' }, { url: 'https://b.example/hook' })
  const { pause, resume, lanes } = serviceFor()
  const [a, b] = await lanes(false)
  await pause(a?.endpointId ?? '')
  await pause(b?.endpointId ?? '')
  harness.clock.advance(60_000)
  const limits = { endpoints: 10, deliveries: 10, leaseS: 60 }
  expect(await claimDue(harness.db, randomUUID(), limits)).toEqual({ deliveries: [], lanes: [] })
  const known = await harness.knownLanes()
  const claim = await claimDue(harness.db, randomUUID(), { ...limits, known })
  expect(claim.deliveries).toEqual([])
  expect(claim.lanes.map(({ endpointId, hasMore }) => [endpointId, hasMore])).toEqual(
    expect.arrayContaining([
      [a?.endpointId, false],
      [b?.endpointId, false],
    ]),
  )
  expect(await nextDueMs(harness.db)).toBeUndefined()
  expect(await scheduleForgottenLanes(harness.db, 10)).toBe(0)
  expect(await readOldestDueS(harness.db, 10)).toBe(0)
  expect(await countLanesThat(harness.db, 'paused', 10)).toBe(2)
  await resume(a?.endpointId ?? '')
  const { deliveries } = await claimDue(harness.db, randomUUID(), { ...limits, known })
  expect(deliveries.map(({ endpointId }) => endpointId)).toEqual([a?.endpointId])
})

it('a lane with due pushes is ready the longer until a claim, but for a paused one and one with an open breaker', async () => {
  await harness.push({ url: 'https://d.example/hook' })
  const { pause, resume, lanes } = serviceFor()
  const [lane] = await lanes(false)
  const readyS = async () => Math.round((await readOldestReadyS(harness.db)) / 60) * 60
  harness.clock.advance(600_000)
  expect(await readyS()).toBe(600)
  const until = new Date(harness.clock.now().getTime() + 60_000).toISOString()
  await harness.asOwner(`update delivery.endpoint set breaker = 'open', breaker_until = '${until}'`)
  expect(await readyS()).toBe(0)
  harness.clock.advance(180_000)
  expect(await readyS()).toBe(120)
  await pause(lane?.endpointId ?? '')
  expect(await readyS()).toBe(0)
  await resume(lane?.endpointId ?? '')
  harness.clock.advance(60_000)
  expect(await readyS()).toBe(60)
  const limits = { endpoints: 10, deliveries: 10, leaseS: 60 }
  expect((await claimDue(harness.db, randomUUID(), limits)).deliveries).toHaveLength(1)
  expect(await readyS()).toBe(0)
})

it('who paused and resumed a lane is listed, newest first, with a line for each change', async () => {
  await harness.push({ url: 'https://c.example/hook' })
  const { pause, resume, changes, lanes, all } = serviceFor()
  const [lane] = await lanes(false)
  const endpointId = lane?.endpointId ?? ''
  expect([await lanes(true), await all(true)]).toEqual([[], []])
  await pause(endpointId, 'they move their servers')
  await pause(endpointId, 'twice')
  expect(await lanes(true)).toMatchObject([{ endpointId, pauseTime: expect.anything() }])
  expect(await all(true)).toMatchObject([{ endpointId }])
  await resume(endpointId)
  await resume(endpointId)
  const [own] = await lanes(false)
  expect(own?.pauseTime).toBeUndefined()
  const first = await changes({ pageSize: 1 })
  const second = await changes({ pageSize: 1, pageToken: first.nextPageToken })
  const line = { endpointId, origin: 'https://c.example', caller: 'on-call' }
  expect([...(first.changes ?? []), ...(second.changes ?? [])]).toMatchObject([
    { ...line, isPaused: false, note: '' },
    { ...line, isPaused: true, note: 'they move their servers' },
  ])
  const ofKind = async (kind: DeliveryKind) => (await changes({ kind })).changes ?? []
  const notified = await ofKind(DeliveryKind.NOTIFY)
  expect(notified.filter((one) => one.endpointId === endpointId)).toHaveLength(2)
  expect(await ofKind(DeliveryKind.CALLBACK)).toEqual([])
  await expect(pause(randomUUID())).rejects.toMatchObject({ reason: 'RECEIVER_NOT_FOUND' })
  await expect(harness.asOwner('delete from delivery.lane_change')).rejects.toThrow('are kept')
})
