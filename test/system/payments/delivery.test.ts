// Pushes to receivers that fail, redirect, answer late or are gone.
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import {
  distinct,
  eventTypes,
  jsonOf,
  merchant,
  order,
  type Push,
  payer,
  receivedBy,
  receiver,
  sharedMesh,
} from '../harness.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
// A receiver is rested when it fails too often, for each project apart: those that only fail have others.
const failing = merchant(mesh, 'payments_only')
const redirected = merchant(mesh, 'other')

// Three pauses of 1, 2 and 4 s, the rests of a receiver that fails, and a machine that is busy with all of it.
const patienceMs = 60_000

type DeliveryRow = { state: string; attempts: number }

/** The deliveries to a URL, as an operator would look at them. */
function deliveriesTo(url: string): Promise<DeliveryRow[]> {
  return mesh.rows<DeliveryRow>(
    'select state, attempts from delivery.delivery where url = $1 order by created_at',
    [url],
  )
}

/** Seconds between the arrivals. */
function gapsS(pushes: Push[]): number[] {
  const times = pushes.map(({ received_time }) => Date.parse(received_time))
  return times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000)
}

/** Cancelled at once: one notify that a link was issued, one that it was cancelled, one callback. */
async function cancelled(urls: Record<string, string>, by = shop): Promise<void> {
  const created = await by.create(order({ urls }))
  expect((await by.cancel(created.id)).status).toBe(200)
}

describe('a push', { concurrent: true, timeout: 90_000 }, () => {
  it('a push that is refused twice is sent a third time, with the same bytes each time', async () => {
    const inbox = receiver(mesh, 'flaky')
    await cancelled(inbox.urls)
    const pushes = await eventually(
      () => inbox.callbacks(),
      (now) => expect(now).toHaveLength(3),
      patienceMs,
    )
    expect(distinct(pushes)).toHaveLength(1)
    const [first = 0, second = 0] = gapsS(pushes)
    // 1 s and 2 s, each ± 20 %, and a breaker that may rest the receiver for up to 2 s.
    expect(first).toBeGreaterThan(0.75)
    expect(second).toBeGreaterThan(1.55)
    await eventually(
      () => deliveriesTo(inbox.urls.callback),
      (rows) => expect(rows).toEqual([{ state: 'delivered', attempts: 3 }]),
    )
    const notifies = await eventually(
      () => inbox.notifies(),
      (now) => expect(now).toHaveLength(6),
      patienceMs,
    )
    for (const body of distinct(notifies)) {
      expect(notifies.filter((push) => push.body === body)).toHaveLength(3)
    }
  })

  it('a push that always fails is tried four times and then exhausted', async () => {
    const inbox = receiver(mesh, 'fail')
    await cancelled({ callback: inbox.urls.callback }, failing)
    await eventually(
      () => deliveriesTo(inbox.urls.callback),
      (rows) => expect(rows).toEqual([{ state: 'exhausted', attempts: 4 }]),
      patienceMs,
    )
    const pushes = await inbox.callbacks()
    expect(pushes).toHaveLength(4)
    expect(distinct(pushes)).toHaveLength(1)
    const [, , third = 0] = gapsS(pushes)
    expect(third).toBeGreaterThan(3.9)
  })

  it('a push is never sent where a redirect points to', async () => {
    const inbox = receiver(mesh, 'redirect')
    await cancelled({ callback: inbox.urls.callback }, redirected)
    await eventually(
      () => deliveriesTo(inbox.urls.callback),
      (rows) => expect(rows).toEqual([{ state: 'exhausted', attempts: 4 }]),
      patienceMs,
    )
    const pushes = await inbox.callbacks()
    expect(pushes.map(({ path }) => path)).toEqual(
      Array.from({ length: 4 }, () => `/receivers/redirect/${inbox.tags.callback}`),
    )
  })

  it('a push answered with 410 ends all pushes of that request to that URL', async () => {
    const inbox = receiver(mesh, 'gone')
    const other = receiver(mesh)
    const urls = { notify: inbox.urls.notify, callback: other.urls.callback }
    const created = await shop.create(order({ payers: [payer(20)], urls }))
    await eventually(
      () => deliveriesTo(inbox.urls.notify),
      (rows) => expect(rows).toEqual([{ state: 'gone', attempts: 1 }]),
    )
    await shop.cancel(created.id)
    await other.calledBack(1)
    await eventually(
      () => deliveriesTo(inbox.urls.notify),
      (rows) => {
        for (const row of rows) expect(row.state).toBe('gone')
      },
    )
    expect(await inbox.notifies()).toHaveLength(1)
    // Another request may use the URL.
    await shop.create(order({ urls }))
    await eventually(
      () => inbox.notifies(),
      (now) => expect(now).toHaveLength(2),
    )
  })

  it('a push with a late response is sent once', async () => {
    const inbox = receiver(mesh, 'slow')
    await cancelled({ callback: inbox.urls.callback })
    await eventually(
      () => deliveriesTo(inbox.urls.callback),
      (rows) => expect(rows).toEqual([{ state: 'delivered', attempts: 1 }]),
      patienceMs,
    )
    expect(await inbox.callbacks()).toHaveLength(1)
  })

  it('a push to a receiver that works is not held up by one that does not', async () => {
    // Of the block of ports that is the mesh's alone, one that it does not use.
    const dead = `http://127.0.0.1:${mesh.portBase + 25}/nobody`
    const urls = { notify: dead, callback: dead }
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(Array.from({ length: 5 }, () => cancelled(urls)))
    }
    const inbox = receiver(mesh)
    await cancelled(inbox.urls)
    const watch = startStopwatch()
    await inbox.calledBack(1)
    expect(watch.elapsedMs()).toBeLessThan(5_000)
    // Those of the others may be stored after those of one that came later.
    const rows = await eventually(
      () => deliveriesTo(dead),
      (now) => expect(now).toHaveLength(60),
    )
    for (const { state } of rows) expect(state).not.toBe('delivered')
  })

  it('a push goes to the one URL that was given', async () => {
    const notifyOnly = receiver(mesh)
    const callbackOnly = receiver(mesh)
    await cancelled({ notify: notifyOnly.urls.notify })
    await cancelled({ callback: callbackOnly.urls.callback })
    await notifyOnly.awaitNotifies(['payment_initiated', 'payment_cancelled'])
    const [callback] = await callbackOnly.calledBack(1)
    expect(callback).toMatchObject({ status: 'Cancelled' })
    expect(await notifyOnly.callbacks()).toEqual([])
    expect(await callbackOnly.notifies()).toEqual([])
  })

  it('pushes of both kinds may go to one URL', async () => {
    const { simulator_url } = mesh.sandbox
    const inbox = receiver(mesh)
    const url = `${simulator_url}/receivers/ok/${inbox.tags.notify}`
    await cancelled({ notify: url, callback: url })
    const pushes = await eventually(
      () => receivedBy(simulator_url, inbox.tags.notify),
      (now) => expect(distinct(now)).toHaveLength(3),
    )
    expect(pushes.filter((push) => jsonOf(push)['event_type'] === undefined)).not.toHaveLength(0)
    expect(eventTypes(pushes)).toEqual(
      expect.arrayContaining(['payment_cancelled', 'payment_initiated']),
    )
  })
})
