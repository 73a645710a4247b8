// Shows the delivery process as a whole: an event from the broker becomes a push that RPCs can show.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Event, EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import { sql } from '#platform/db/db.ts'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { publishSurely } from '../events/harness.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts } from '../support/servers.ts'
import { createdEvent } from './event.ts'
import { migrations } from './harness.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const credential = 'operator-credential-0123456789'
const root = path.resolve(import.meta.dirname, '../..')

let database: TestDatabase
let secrets: string
let nats: Nats
let receiver: Receiver
let service: ChildProcess
let ports: number[]

beforeAll(async () => {
  database = await createTestDatabase('delivery', migrations)
  receiver = await startReceiver()
  secrets = mkdtempSync(path.join(os.tmpdir(), 'payweave-delivery-'))
  const sha256 = createHash('sha256').update(credential).digest('hex')
  writeIdentities(secrets, ['delivery'], [{ name: 'operator', sha256, rpcs: ['*'] }])
  ports = await freePorts(2)
  service = spawn(process.execPath, ['services/delivery/main.ts'], {
    cwd: root,
    env: {
      ...process.env,
      PAYWEAVE_ENV: 'local',
      DATABASE_URL: database.url,
      NATS_URL: process.env['TEST_NATS_URL'],
      SECRETS_DIR: path.join(secrets, 'delivery'),
      PORT: String(ports[0]),
      ADMIN_PORT: String(ports[1]),
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  nats = connectNats({ url: process.env['TEST_NATS_URL'] ?? '', name: 'test', log: silentLog })
  await eventually(() => isReady(), 40_000)
})
afterAll(async () => {
  await nats.close()
  service.kill('SIGKILL')
  await receiver.close()
  await database.drop()
  rmSync(secrets, { recursive: true, force: true })
})

async function isReady(): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${ports[1]}/readyz`).catch(() => undefined)
  return answer?.ok ?? false
}

async function publish(event: Event): Promise<void> {
  await publishSurely(nats, event.subject, toBinary(EventSchema, event), event.eventId)
}

type Shown = { deliveryId: string; state: string; origin: string; attemptCount: number }
type Answered = {
  code?: string
  deliveries?: Shown[]
  delivery?: Shown & { attempts: unknown[] }
  nextPageToken?: string
  known?: unknown[]
}

async function call(rpc: string, request: object, bearer = credential): Promise<Answered> {
  const answer = await fetch(`http://127.0.0.1:${ports[0]}/${rpc}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
    body: JSON.stringify(request),
  })
  return (await answer.json()) as Answered
}

const list = (request: object) =>
  call('payweave.delivery.v1.DeliveryService/ListDeliveries', request)
const get = (request: object) => call('payweave.delivery.v1.DeliveryService/GetDelivery', request)

describe('the delivery process', () => {
  it('the delivery process turns an event into a push, confirms it and shows it to its project alone', async () => {
    const projectId = randomUUID()
    const event = createdEvent({ projectId, notify: `${receiver.url}/n?secret=1` })
    await publish(event)
    await publish(event)
    await eventually(async () => {
      const { deliveries = [] } = await list({ projectId })
      return deliveries[0]?.state === 'DELIVERY_STATE_DELIVERED'
    })
    expect(receiver.requests).toHaveLength(1)

    const { deliveries = [] } = await list({ projectId })
    expect(deliveries).toMatchObject([
      { kind: 'DELIVERY_KIND_NOTIFY', subjectId: 'payment-1', origin: receiver.url },
    ])
    expect(JSON.stringify(deliveries)).not.toContain('secret')
    const deliveryId = deliveries[0]?.deliveryId
    expect((await get({ projectId, deliveryId })).delivery?.attempts).toMatchObject([
      {
        number: 1,
        outcome: 'ATTEMPT_OUTCOME_DELIVERED',
        status: 200,
        peerAddress: '127.0.0.1',
        answer: Buffer.from('{"ok":true}').toString('base64'),
      },
    ])
    expect(await get({ projectId: randomUUID(), deliveryId })).toMatchObject({ code: 'not_found' })
    expect(await list({ projectId: randomUUID() })).toEqual({})

    const seen = await call('payweave.events.v1.InboxService/Seen', {
      eventIds: [event.eventId, randomUUID()],
    })
    expect(seen.known).toEqual([{ eventId: event.eventId, state: 'INBOX_STATE_SEEN' }])
  })

  it('the delivery process lists newest first, by page, kind, state and subject', async () => {
    const projectId = randomUUID()
    const { url } = receiver
    await publish(
      createdEvent({ projectId, notify: url, callback: url, payers: 5, callbackSequence: 1 }),
    )
    await eventually(async () => expect((await list({ projectId })).deliveries?.length).toBe(6))

    const first = await list({ projectId, pageSize: 4 })
    const second = await list({ projectId, pageSize: 4, pageToken: first.nextPageToken })
    const ids = [...(first.deliveries ?? []), ...(second.deliveries ?? [])].map(
      ({ deliveryId }) => deliveryId,
    )
    expect(new Set(ids).size).toBe(6)
    expect(second.nextPageToken).toBeUndefined()
    const callbacks = await list({ projectId, kind: 'DELIVERY_KIND_CALLBACK' })
    expect(callbacks.deliveries).toHaveLength(1)
    expect(await list({ projectId, state: 'DELIVERY_STATE_GONE' })).toEqual({})
    expect((await list({ projectId, subjectId: 'payment-1' })).deliveries).toHaveLength(6)
    expect(await list({ projectId, subjectId: 'payment-2' })).toEqual({})
  })

  it.each([
    ['no project', {}, 'invalid_argument'],
    ['a malformed project', { projectId: 'p' }, 'invalid_argument'],
    ['a page that is too large', { projectId: randomUUID(), pageSize: 201 }, 'invalid_argument'],
    ['a forged page token', { projectId: randomUUID(), pageToken: 'abc' }, 'invalid_argument'],
  ])('the delivery process refuses %s', async (_what, request, code) => {
    expect(await list(request)).toMatchObject({ code })
  })

  it('the delivery process refuses a caller that it does not know', async () => {
    const rpc = 'payweave.delivery.v1.DeliveryService/ListDeliveries'
    const answer = await call(rpc, { projectId: randomUUID() }, 'someone-else-0123456789')
    expect(answer).toMatchObject({ code: 'unauthenticated' })
  })

  it('the delivery process counts what it does', async () => {
    const answer = await fetch(`http://127.0.0.1:${ports[1]}/metrics`)
    const text = await answer.text()
    expect(text).toMatch(
      /payweave_delivery_attempts_total\{outcome="delivered",part="delivery"\} \d/,
    )
    expect(text).toMatch(/payweave_delivery_first_post_seconds_count\{part="delivery"\} [1-9]/)
    expect(text).toContain('payweave_delivery_oldest_due_seconds{part="delivery"} 0')
    expect(text).toContain('payweave_delivery_dead_letters{state="blocked",part="delivery"} 0')
  })

  it('the delivery process exits on SIGTERM once its pushes in flight have ended', async () => {
    const db = database.open()
    const states = sql('states', "select state from delivery where state <> 'delivered'")
    // The pushes of the tests before, which share a URL, wait for each other.
    await eventually(async () => expect((await db.rows(states, [])).length).toBe(0))
    receiver.answer((_request, response) => void setTimeout(() => response.end(), 500))
    const sent = receiver.requests.length
    await publish(createdEvent({ notify: receiver.url }))
    await eventually(() => expect(receiver.requests.length).toBe(sent + 1))
    const exited = new Promise((resolve) => service.once('exit', resolve))
    service.kill('SIGTERM')
    expect(await exited).toBe(0)
    expect(await db.rows(states, [])).toEqual([])
  })
})
