// Shows that pushes of one kind to a host do not wait for those of another kind.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '#platform/db/db.ts'
import { listEndpoints } from '../../../services/delivery/store/endpoint-store.ts'
import { eventually } from '../../support/eventually.ts'
import { startHarness } from '../harness.ts'
import { type Receiver, startReceiver, status } from '../receiver.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
const receivers: Receiver[] = []

beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((one) => one.close()))
  await harness.reset()
})
afterAll(() => harness.drop())

/** Leaves pushes to paths that begin with one of these unanswered, and answers the others. */
async function receiverThatHangs(...paths: string[]): Promise<Receiver> {
  const receiver = await startReceiver((request, response) => {
    if (!paths.some((path) => request.path.startsWith(path))) status(200)(request, response)
  })
  receivers.push(receiver)
  return receiver
}

const arrived = (receiver: Receiver, path: string) =>
  receiver.requests.filter((request) => request.path.startsWith(path)).length

describe('a notify path that hangs', () => {
  it('a notify path that hangs does not hold up callbacks to the same host', async () => {
    const to = await receiverThatHangs('/notify')
    // No attempt is given up before the callbacks have to be there.
    harness.worker({ timeoutMs: 60_000 })
    await harness.push(...Array.from({ length: 20 }, () => ({ url: `${to.url}/notify` })))
    await eventually(() => expect(arrived(to, '/notify')).toBeGreaterThan(0))
    const callback = { url: `${to.url}/callback`, kind: 'callback' } as const
    const ids = await harness.push(...Array.from({ length: 20 }, () => callback))
    for (const id of ids)
      await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(arrived(to, '/notify')).toBeLessThanOrEqual(2)
  })
})

describe('a lane of the previous release', () => {
  /** What that version wrote: one row for an origin, for all kinds. */
  async function oldPush(url: string, kind: 'notify' | 'callback'): Promise<string> {
    const { projectId } = harness
    const [endpointId, deliveryId] = [randomUUID(), randomUUID()]
    const { origin, hostname } = new URL(url)
    await harness.db.run(
      sql(
        'old_endpoint',
        `insert into endpoint (
           endpoint_id, project_id, origin, hostname, ready_at, window_started_at, created_at
         ) values ($1, $2, $3, $4, clock_now(), clock_now(), clock_now())`,
      ),
      [endpointId, projectId, origin, hostname],
    )
    await harness.db.run(
      sql(
        'old_delivery',
        `insert into delivery (
           delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, state,
           next_attempt_at, occurred_at, created_at
         ) values (
           $1, $2, $3, $4, $5, 'payment-1', $6, '\\x7b7d', 'pending',
           date_trunc('milliseconds', clock_now()), clock_now(), clock_now()
         )`,
      ),
      [deliveryId, projectId, endpointId, randomUUID(), kind, url],
    )
    return deliveryId
  }

  it('a lane of the previous release is served until it is empty, and new pushes go to lanes of their kind', async () => {
    const to = await receiverThatHangs()
    const old = await oldPush(`${to.url}/callback`, 'callback')
    const [notify = ''] = await harness.push({ url: `${to.url}/notify` })
    const [callback = ''] = await harness.push({ url: `${to.url}/callback`, kind: 'callback' })
    harness.worker()
    for (const id of [old, notify, callback]) {
      await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    }
    const lanes = await listEndpoints(harness.db, harness.projectId, undefined, 10)
    expect(lanes.map(({ origin, kind }) => [origin, kind])).toEqual([
      [to.url, null],
      [to.url, 'callback'],
      [to.url, 'notify'],
    ])
  })
})

describe('the lanes of a project', () => {
  it('the lanes of a project are listed by the state of their breaker', async () => {
    await harness.push({ url: 'https://a.example/x' }, { url: 'https://b.example/x' })
    await harness.asOwner(
      `update delivery.endpoint set breaker = 'open', breaker_until = now() + interval '1 minute'
       where origin = 'https://b.example'`,
    )
    const inState = async (breaker: 'open' | 'closed' | 'half_open') => {
      const { db, projectId } = harness
      const lanes = await listEndpoints(db, projectId, undefined, 10, { breaker })
      return lanes.map(({ origin }) => origin)
    }
    expect(await inState('open')).toEqual(['https://b.example'])
    expect(await inState('closed')).toEqual(['https://a.example'])
    expect(await inState('half_open')).toEqual([])
  })

  it('the lanes of a project are listed page by page, by origin and kind', async () => {
    const kinds = ['notify', 'callback', 'onboarding'] as const
    const urls = ['https://b.example/x', 'https://a.example/x']
    await harness.push(...urls.flatMap((url) => kinds.map((kind) => ({ url, kind }))))
    const all: string[] = []
    let after: Parameters<typeof listEndpoints>[2]
    for (;;) {
      const [lane] = await listEndpoints(harness.db, harness.projectId, after, 1)
      if (lane === undefined) break
      all.push(`${lane.origin} ${lane.kind}`)
      after = lane
    }
    expect(all).toEqual([
      'https://a.example callback',
      'https://a.example notify',
      'https://a.example onboarding',
      'https://b.example callback',
      'https://b.example notify',
      'https://b.example onboarding',
    ])
  })
})
