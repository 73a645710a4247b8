// What a merchant sees of their pushes over RPC, and that they can send one again: theirs alone.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import {
  AttemptOutcome,
  DeliveryKind,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { timelineOf } from '../../console/pages/timeline.ts'
import { merchantDeliveryService } from '../../services/delivery/api/merchant-deliveries.ts'
import { sendAfterAttempts } from '../../services/delivery/store/merchant-store.ts'
import { cancelDelivery } from '../../services/delivery/store/operate-store.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type PushChanges, startHarness } from './harness.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

const host = '127.0.0.1'
const merchantId = randomUUID()
const paymentId = randomUUID()

let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver
let client: Client<typeof MerchantDeliveryService>
let due = 0
let stop: () => Promise<void>

beforeAll(async () => {
  harness = await startHarness()
  receiver = await startReceiver()
  const secrets = mkdtempSync(join(tmpdir(), 'payweave-merchant-'))
  writeIdentities(secrets, ['delivery', 'gateway'])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const { db } = harness
  const onDue = () => {
    due += 1
  }
  const server = await serveRpc({
    host,
    port: 0,
    identity: identityOf('delivery'),
    log: silentLog,
    routes: (router) =>
      router.service(MerchantDeliveryService, merchantDeliveryService({ db, onDue })),
  })
  const url = `http://${host}:${server.port}`
  const pool = createRpcPool(url)
  const identity = identityOf('gateway')
  client = createRpcClient(MerchantDeliveryService, { url, audience: 'delivery', identity, pool })
  stop = async () => {
    await pool.close()
    await server.close()
    rmSync(secrets, { recursive: true })
  }
})
afterEach(async () => {
  await harness.reset()
  await harness.asOwner('truncate delivery.replay_request')
  receiver.requests.length = 0
  receiver.answer(status(200))
})
afterAll(async () => {
  await stop()
  await receiver.close()
  await harness.drop()
})

/** Pushes of the merchant, each with a time of its own. */
async function pushes(count: number, more: Partial<PushChanges> = {}): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) {
    harness.clock.advance(1_000)
    const [id = ''] = await harness.push({
      url: `${receiver.url}/shop?secret=1`,
      subjectId: paymentId,
      merchantId,
      eventType: 'payment_initiated',
      ...more,
    })
    ids.push(id)
  }
  return ids
}

type Filter = Omit<Parameters<typeof client.listMerchantDeliveries>[0], '$typeName'>

async function pagesOf(filter: Filter = {}): Promise<string[][]> {
  const pages: string[][] = []
  let pageToken = ''
  do {
    const { projectId } = harness
    const request = { projectId, merchantId, ...filter, pageToken }
    const page = await client.listMerchantDeliveries(request)
    pages.push(page.deliveries.map(({ deliveryId }) => deliveryId))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return pages
}

const listed = async (filter: Filter = {}) => (await pagesOf(filter)).flat()

async function reasonOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error instanceof Failure ? error.reason : 'not refused'
}

const keyOf = (deliveryId: string) => ({ projectId: harness.projectId, merchantId, deliveryId })
const get = async (deliveryId: string) => {
  const { delivery } = await client.getMerchantDelivery(keyOf(deliveryId))
  if (delivery === undefined) throw new Error('the answer is empty')
  return delivery
}
const resend = (deliveryId: string, requestId = randomUUID()) =>
  client.resendMerchantDelivery({ ...keyOf(deliveryId), requestId })

describe('the list of a merchant', () => {
  it('the list of a merchant has their pushes newest first, page by page, in all states', async () => {
    const ids = (await pushes(7)).toReversed()
    await cancelDelivery(harness.db, harness.projectId, ids[3] ?? '')
    await harness.asOwner(
      `update delivery.delivery set state = 'sending', next_attempt_at = null, lease_token = gen_random_uuid(),
         lease_until = now() where delivery_id = '${ids[1]}'`,
    )
    const pages = await pagesOf({ pageSize: 3 })
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1])
    expect(pages.flat()).toEqual(ids)
    expect(await listed({ state: DeliveryState.CANCELLED })).toEqual([ids[3]])
    expect(await listed({ state: DeliveryState.SENDING })).toEqual([ids[1]])
    expect(await listed({ state: DeliveryState.EXHAUSTED })).toEqual([])
  })

  it('the list of a merchant is filtered by payment, type and time', async () => {
    const [first = ''] = await pushes(1)
    const [second = ''] = await pushes(1, { eventType: 'payment_completed', kind: 'callback' })
    const [third = ''] = await pushes(1, { subjectId: randomUUID() })
    expect(await listed({ paymentId })).toEqual([second, first])
    expect(await listed({ eventType: 'payment_initiated' })).toEqual([third, first])
    expect(await listed({ paymentId, eventType: 'payment_initiated' })).toEqual([first])
    expect(await listed({ paymentId, state: DeliveryState.GONE })).toEqual([])
    const { createTime } = await get(second)
    if (createTime === undefined) throw new Error('a delivery has a time')
    expect(await listed({ startTime: createTime })).toEqual([third, second])
    expect(await listed({ endTime: createTime, paymentId })).toEqual([first])
    expect(await listed({ startTime: createTime, endTime: createTime })).toEqual([])
  })

  it('the list of a merchant finds a type behind a thousand others, in bounded steps', async () => {
    const [rare = ''] = await pushes(1, { eventType: 'payout_failed' })
    harness.clock.advance(1_000)
    const common = { url: receiver.url, subjectId: paymentId, merchantId, eventType: 'other' }
    await harness.push(...Array.from({ length: 1_100 }, () => common))
    expect(await pagesOf({ eventType: 'payout_failed', pageSize: 10 })).toEqual([[], [rare]])
  })

  it('the list of a merchant refuses an invalid page token', async () => {
    const request = { projectId: harness.projectId, merchantId, pageToken: 'abc' }
    expect(await reasonOf(client.listMerchantDeliveries(request))).toBe('INVALID_PARAMETER')
  })

  it('no other merchant and no other project sees a push, nor is one of onboarding seen', async () => {
    const [id = ''] = await pushes(1)
    const [onboarding = ''] = await harness.push({ url: receiver.url, kind: 'onboarding' })
    expect(await listed()).toEqual([id])
    const others = [{ merchantId: randomUUID() }, { projectId: randomUUID() }]
    for (const other of others) {
      expect(await listed(other)).toEqual([])
      expect(await listed({ ...other, paymentId })).toEqual([])
      const key = { ...keyOf(id), ...other }
      expect(await reasonOf(client.getMerchantDelivery(key))).toBe('DELIVERY_NOT_FOUND')
      const resent = client.resendMerchantDelivery({ ...key, requestId: randomUUID() })
      expect(await reasonOf(resent)).toBe('DELIVERY_NOT_FOUND')
      const pushed = await client.listPaymentPushes({ ...key, paymentId })
      expect(pushed.deliveries).toEqual([])
    }
    expect(await reasonOf(get(onboarding))).toBe('DELIVERY_NOT_FOUND')
    expect(await reasonOf(resend(onboarding))).toBe('DELIVERY_NOT_FOUND')
  })
})

describe('a push of a merchant', () => {
  it('a push of a merchant is shown with its URL, its bytes and its attempts', async () => {
    receiver.answer((_request, response) => response.writeHead(500).end('x'.repeat(3_000)))
    const [id = ''] = await pushes(1)
    harness.worker({ scheduleS: [] })
    await eventually(async () => expect((await get(id)).state).toBe(DeliveryState.EXHAUSTED))
    const delivery = await get(id)
    expect(delivery).toMatchObject({
      kind: DeliveryKind.NOTIFY,
      eventType: 'payment_initiated',
      url: `${receiver.url}/shop?secret=1`,
      attemptCount: 1,
      paymentId,
      attempts: [{ number: 1, status: 500, outcome: AttemptOutcome.REFUSED }],
    })
    expect(delivery.attempts[0]?.answer).toHaveLength(1_024)
    expect(Buffer.from(delivery.body).toString()).toBe('{"event_type":"payment_initiated"}')
    const { projectId } = harness
    const { deliveries } = await client.listPaymentPushes({ projectId, merchantId, paymentId })
    expect(deliveries).toMatchObject([
      { deliveryId: id, attempts: [{ number: 1, status: 500 }], body: new Uint8Array() },
    ])
  })

  it('the pushes of a payment have all facts of their attempts but the answers', async () => {
    receiver.answer(status(429, { 'retry-after': '7' }))
    const [id = ''] = await pushes(1)
    harness.worker({ scheduleS: [3_600] })
    await eventually(async () => expect((await get(id)).attempts[0]?.status).toBe(429))
    const { projectId } = harness
    const { deliveries } = await client.listPaymentPushes({ projectId, merchantId, paymentId })
    const { attempts } = await get(id)
    expect(attempts).toMatchObject([
      { round: 1, retryAfterS: 7, peerAddress: host, firstByteMs: expect.any(Number) },
    ])
    expect(deliveries[0]?.attempts).toEqual([{ ...attempts[0], answer: new Uint8Array() }])
    const lines = timelineOf({ events: [], currency: 'USD' }, deliveries, '/pushes')
    expect(lines[0]?.sentence).toMatch(/your server answered 429 after \d+ ms, next try in \d+ s$/)
  })

  it('a push that has ended is sent again with the same id and bytes, and its attempts go on counting', async () => {
    const [id = ''] = await pushes(1)
    const worker = harness.worker()
    await eventually(async () => expect((await get(id)).state).toBe(DeliveryState.DELIVERED))
    // It would send the push before the answer is read.
    await worker.close()
    const requestId = randomUUID()
    const before = due
    const { delivery } = await resend(id, requestId)
    expect(delivery).toMatchObject({ deliveryId: id, state: DeliveryState.PENDING })
    expect(due).toBe(before + 1)
    harness.worker()
    await eventually(() => expect(receiver.requests).toHaveLength(2))
    const [first, second] = receiver.requests
    expect(second?.body).toEqual(first?.body)
    expect(receiver.requests.map(({ headers }) => headers['pw-delivery-attempt'])).toEqual([
      '1',
      '2',
    ])
    await eventually(async () => expect((await get(id)).state).toBe(DeliveryState.DELIVERED))
    // A repeat of the same request begins no further round.
    expect((await resend(id, requestId)).delivery?.state).toBe(DeliveryState.DELIVERED)
    const [other = ''] = await pushes(1)
    expect(await reasonOf(resend(other, requestId))).toBe('IDEMPOTENCY_KEY_CONFLICT')
  })

  it('a push that was sent again very often is shown with its newest hundred attempts', async () => {
    const ids = await pushes(12)
    const largest = 4_096
    await harness.asOwner(
      `insert into delivery.attempt (delivery_id, number, started_at, endpoint_id, outcome, status, total_ms, answer)
       select delivery_id, number, created_at + number * interval '1 second', endpoint_id, 'refused', 500, 30,
         convert_to(repeat('x', ${largest}), 'UTF8')
       from delivery.delivery cross join generate_series(1, 120) as number`,
    )
    const newest = Array.from({ length: 100 }, (_, index) => index + 21)
    expect((await get(ids[0] ?? '')).attempts.map(({ number }) => number)).toEqual(newest)
    expect((await harness.attempts(ids[0] ?? '')).map(({ number }) => number)).toEqual(newest)
    const { projectId } = harness
    const { deliveries } = await client.listPaymentPushes({ projectId, merchantId, paymentId })
    expect(deliveries.map(({ deliveryId }) => deliveryId)).toEqual(ids)
    for (const { attempts } of deliveries) {
      expect(attempts.map(({ number }) => number)).toEqual(newest)
    }
  })

  it('a push that waits for its next attempt is sent now, in the same round', async () => {
    receiver.answer(status(500))
    const [id = ''] = await pushes(1)
    const worker = harness.worker({ scheduleS: [3_600] })
    await eventually(async () => expect((await get(id)).attempts).toHaveLength(1))
    await eventually(async () => expect((await get(id)).state).toBe(DeliveryState.PENDING))
    receiver.answer(status(200))
    await resend(id)
    worker.notify()
    await eventually(async () => expect((await get(id)).state).toBe(DeliveryState.DELIVERED))
    expect((await get(id)).attempts.map(({ round }) => round)).toEqual([1, 1])
  })

  const openBreaker = (opened: string) =>
    harness.asOwner(
      `update delivery.endpoint set breaker = 'open', window_started_at = now() ${opened},
         breaker_until = now() + interval '2 hours', ready_at = now() + interval '2 hours'`,
    )

  it.each([
    ['waits', []],
    ['has ended', ['exhausted']],
  ])('a push that %s is sent again although the breaker of its lane is open', async (_, ended) => {
    const [id = ''] = await pushes(1)
    for (const state of ended) {
      await harness.asOwner(
        `update delivery.delivery set state = '${state}', next_attempt_at = null, ended_at = now()`,
      )
    }
    await openBreaker(`- interval '1 minute'`)
    const worker = harness.worker()
    await resend(id)
    worker.notify()
    await eventually(async () => expect((await get(id)).state).toBe(DeliveryState.DELIVERED))
  })

  it('a breaker is probed for a merchant ten seconds after it opened at the earliest', async () => {
    const [id = ''] = await pushes(1)
    await openBreaker(`+ interval '1 hour'`)
    for (const _ of [1, 2]) {
      await resend(id)
      const lanes = await harness.asOwner(
        `select extract(epoch from breaker_until - window_started_at)::float as "untilS",
           ready_at = breaker_until as "isReadyThen", breaker from delivery.endpoint`,
      )
      expect(lanes).toEqual([{ untilS: 10, isReadyThen: true, breaker: 'open' }])
    }
  })

  it('a push that is being sent is sent once more when its attempt has ended, with any outcome', async () => {
    for (const end of [status(200), status(500)]) {
      const answered = Promise.withResolvers<void>()
      receiver.answer((...exchange) => void answered.promise.then(() => end(...exchange)))
      const [id = ''] = await pushes(1)
      const worker = harness.worker({ scheduleS: [3_600] })
      await eventually(async () => expect((await get(id)).state).toBe(DeliveryState.SENDING))
      const requestId = randomUUID()
      for (const _ of ['request', 'repeat']) {
        const { delivery } = await resend(id, requestId)
        expect(delivery).toMatchObject({ state: DeliveryState.SENDING, attemptCount: 1 })
      }
      expect(await sendAfterAttempts(harness.db, 10)).toBe(0)
      answered.resolve()
      await eventually(async () => expect((await get(id)).attempts[0]?.status).not.toBe(0))
      receiver.answer(status(200))
      const [one, another] = [1, 2].map(() => sendAfterAttempts(harness.db, 10))
      expect(((await one) ?? 0) + ((await another) ?? 0)).toBe(1)
      worker.notify()
      await eventually(async () => {
        expect(await get(id)).toMatchObject({ state: DeliveryState.DELIVERED, attemptCount: 2 })
      })
      expect(await sendAfterAttempts(harness.db, 10)).toBe(0)
      await worker.close()
    }
  })

  it('a push that an operator stops while it is being sent is not sent again', async () => {
    const [id = ''] = await pushes(1)
    await harness.asOwner(
      `update delivery.delivery set state = 'sending', next_attempt_at = null, attempts = 1,
         lease_token = gen_random_uuid(), lease_until = now() + interval '1 hour' where delivery_id = '${id}'`,
    )
    await resend(id)
    await cancelDelivery(harness.db, harness.projectId, id)
    expect(await sendAfterAttempts(harness.db, 10)).toBe(0)
    expect((await get(id)).state).toBe(DeliveryState.CANCELLED)
  })
})
