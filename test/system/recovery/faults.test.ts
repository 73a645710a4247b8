// Tests the responses to clients while NATS, a service or PostgreSQL is down, and that nothing is lost.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { freeze } from '../../support/freeze.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import {
  type Created,
  detailsOf,
  eventTypes,
  isoPattern,
  type Merchant,
  merchant,
  order,
  payer,
  payerStatesOf,
  receiver,
} from '../harness.ts'

let mesh: Mesh
let shop: Merchant

beforeAll(async () => {
  mesh = await startMesh({ name: 'faults' })
  shop = merchant(mesh)
})
afterAll(() => mesh.remove())

// The lease of a worker that was killed, and what a part that was killed takes to come up.
const recoveredMs = 60_000

const wholeStory = [
  'payment_completed',
  'payment_initiated',
  'payout_completed',
  'payout_scheduled',
]

describe('while NATS does not answer', () => {
  it('while NATS does not answer, the API keeps answering, and every event reaches its receiver once', async () => {
    const inboxes = Array.from({ length: 5 }, () => receiver(mesh))
    const quitted = receiver(mesh)
    const created: Created[] = []
    const thaw = await freeze(mesh.pid('nats'))
    try {
      for (const inbox of inboxes) {
        const watch = startStopwatch()
        created.push(await shop.create(order({ payers: [payer(1)], urls: inbox.urls })))
        expect(watch.elapsedMs()).toBeLessThan(2_500)
        // The first is created before its process has found out that NATS does not answer, the others after that.
        await inbox.awaitNotifies(['payment_initiated'], recoveredMs)
      }
      const other = await shop.create(order({ urls: quitted.urls }))
      expect(detailsOf(await shop.cancel(other.id))['status']).toBe('Cancelled')
      for (const { id } of created) expect((await shop.status(id)).status).toBe(200)
      for (const inbox of inboxes) await inbox.awaitNotifies(wholeStory, recoveredMs)
    } finally {
      thaw()
    }
    for (const [index, inbox] of inboxes.entries()) {
      await shop.stateIs(created[index]?.id ?? '', 'paid')
      await inbox.awaitNotifies(wholeStory, recoveredMs)
      await inbox.calledBack(1)
      expect(eventTypes(await inbox.notifies())).toEqual(wholeStory)
    }
    await quitted.awaitNotifies(['payment_initiated', 'payment_cancelled'])
    await mesh.ready()
  }, 180_000)

  it('while NATS is killed, a payment is completed', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(order({ payers: [payer(1)], urls: inbox.urls }))
    process.kill(mesh.pid('nats'), 'SIGKILL')
    await shop.stateIs(created.id, 'paid')
    await inbox.awaitNotifies(wholeStory, recoveredMs)
    expect(await inbox.calledBack(1)).toHaveLength(1)
    await mesh.ready()
  }, 180_000)
})

describe('while a service does not answer', () => {
  it('while a service does not answer, calls that need it end in 504 or 503 in the envelope, and work again after', async () => {
    const { id } = await shop.create(order())
    const thaw = await freeze(mesh.pid('payments'))
    try {
      const watch = startStopwatch()
      const query = { api_key: shop.apiKey, payment_details_id: id }
      const answer = await shop.call('GET', '/payments/status', { query, isSentOnce: true })
      expect(watch.elapsedMs()).toBeLessThan(15_000)
      expect(answer.body).toMatchObject({
        status: 'error',
        code: answer.status,
        message: expect.stringMatching(/later/i),
        timestamp: expect.stringMatching(isoPattern),
      })
      expect(['TIMEOUT', 'SERVICE_UNAVAILABLE']).toContain(answer.body['errorCode'])
      expect(answer.status).toBe(answer.body['errorCode'] === 'TIMEOUT' ? 504 : 503)
    } finally {
      thaw()
    }
    expect(payerStatesOf(await shop.stateIs(id, 'Pending'))).toEqual(['Pending'])
  })

  it('a repeat after an unclear answer returns the outcome of the first', async () => {
    const inbox = receiver(mesh)
    const transaction = order({ payers: [payer(1)], urls: inbox.urls })
    const first = shop.request(transaction)
    process.kill(mesh.pid('payments'), 'SIGKILL')
    const { status } = await first
    expect([200, 503, 504]).toContain(status)
    const created = await eventually(() => shop.create(transaction), recoveredMs)
    // The signal may have come when the first was being carried out.
    await shop.stateIs(created.id, 'paid', recoveredMs)
    await inbox.awaitNotifies(wholeStory, recoveredMs)
    expect(eventTypes(await inbox.notifies())).toEqual(wholeStory)
  }, 180_000)

  it('while the peer of a service is away, calls end in 503 and work again after', async () => {
    const { id } = await shop.create(order())
    process.kill(mesh.pid('payments'), 'SIGKILL')
    const seen = new Set<number>()
    await eventually(
      () => shop.status(id),
      (answer) => {
        seen.add(answer.status)
        expect(answer.status).toBe(200)
      },
      recoveredMs,
    )
    expect([...seen].filter((status) => ![200, 503, 504].includes(status))).toEqual([])
  })
})

describe('while PostgreSQL is away', () => {
  it('while PostgreSQL is away, calls end in the envelope and nothing that was answered is lost', async () => {
    const inbox = receiver(mesh)
    const created = await shop.create(order({ payers: [payer(1)], urls: inbox.urls }))
    process.kill(mesh.pid('postgres'), 'SIGKILL')
    const answer = await shop.request(order())
    expect([200, 503, 504]).toContain(answer.status)
    await mesh.ready()
    await shop.stateIs(created.id, 'paid', recoveredMs)
    await inbox.awaitNotifies(wholeStory, recoveredMs)
  }, 180_000)
})
