// Shows when leases are released whose instance was killed or whose claim got no answer, and that no others are.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '#platform/db/db.ts'
import {
  checkInstances,
  registerInstance,
  releaseInstance,
} from '#platform/instances/instance-store.ts'
import { leaseToken } from '#platform/instances/lease-token.ts'
import { releaseInstanceLeases } from '../../services/delivery/store/lease-store.ts'
import { type Instance, startInstance } from '../../services/delivery/workers/instance.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freezeFamily } from '../support/freeze.ts'
import { ownBroker, ownPostgres, type TestServer } from '../support/servers.ts'
import { type Stopwatch, startStopwatch } from '../support/stopwatch.ts'
import { claimDeliveries, leasesOf, startHarness } from './harness.ts'
import { type DeliveryProcess, startDeliveryProcess } from './process.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

const limits = { endpoints: 10, deliveries: 10, leaseS: 60 }
const withinMs = 5_000

let postgres: TestServer
let broker: TestServer
let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver
let instances: Instance[] = []
let processes: DeliveryProcess[] = []

beforeAll(async () => {
  ;[postgres, broker] = await Promise.all([ownPostgres({ fsync: 'off' }), ownBroker()])
  process.env['TEST_DATABASE_URL'] = postgres.url
  harness = await startHarness()
  receiver = await startReceiver()
})
afterEach(async () => {
  receiver.answer(status(200))
  await Promise.all(processes.splice(0).map((one) => one.stop('SIGKILL')))
  const running = instances
  instances = []
  await harness.reset()
  await Promise.all(running.map((one) => one.close()))
  receiver.requests.length = 0
})
afterAll(async () => {
  await receiver.close()
  await harness.drop()
  await Promise.all([postgres.remove(), broker.remove()])
})

async function start(): Promise<DeliveryProcess> {
  const started = await startDeliveryProcess({
    DATABASE_URL: harness.database.url,
    NATS_URL: broker.url,
  })
  processes.push(started)
  return started
}

/** An instance, and a worker whose claims have leases of it. */
function startOwner(db: Database = harness.db) {
  const instance = startInstance({
    db,
    log: silentLog,
    isHeld: (lease) => worker.holds(lease),
    onDue: () => worker.notify(),
  })
  const worker = harness.worker({ db, leases: instance })
  instances.push(instance)
}

/** Answers nothing, and keeps what it would answer with. */
function holdAnswers(): ServerResponse[] {
  const held: ServerResponse[] = []
  receiver.answer((_request, response) => void held.push(response))
  return held
}

const sessions = `
  select pid from pg_locks join delivery.instance on objid::bigint
    = delivery.instance_lock(instance_id) & (1::bigint << 32) - 1
  where locktype = 'advisory' and granted`

/** Releases leases of an instance that has ended. */
const release = (id: string) =>
  releaseInstance(harness.db, id, (tx) => releaseInstanceLeases(tx, id, 100))

const sessionCount = async () => (await harness.asOwner(sessions)).length

/** The push was repeated within 5 s of the start of the stopwatch; a standstill of the machine does not count. */
async function expectPushedAgain(id: string, error: string, watch: Stopwatch): Promise<void> {
  await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
  expect(watch.elapsedMs()).toBeLessThan(withinMs)
  watch.stop()
  expect(await harness.attempts(id)).toMatchObject([
    { number: 1, outcome: 'unknown', error },
    { number: 2, outcome: 'delivered' },
  ])
}

describe('an instance that is killed while it pushes', () => {
  it('an instance that is killed while it pushes has its push repeated by the next one within 5 s of its start', async () => {
    const held = holdAnswers()
    const [id = ''] = await harness.push({ url: receiver.url, body: Buffer.from('{"n":1}') })
    const killed = await start()
    await eventually(() => expect(held.length).toBe(1))
    await killed.stop('SIGKILL')
    receiver.answer(status(200))
    const starting = start()
    await eventually(async () =>
      expect(await harness.asOwner('select from delivery.instance')).toHaveLength(2),
    )
    await expectPushedAgain(id, 'instance_lost', startStopwatch())
    await starting
    expect(receiver.requests.map(({ body }) => body)).toEqual(['{"n":1}', '{"n":1}'])
  })

  it('an instance that is killed while it pushes has its push repeated by another one within 5 s of its end', async () => {
    const held = holdAnswers()
    const [id = ''] = await harness.push({ url: receiver.url })
    const killed = await start()
    await eventually(() => expect(held.length).toBe(1))
    startOwner()
    await eventually(async () => expect(await sessionCount()).toBe(2))
    receiver.answer(status(200))
    await killed.stop('SIGKILL')
    await expectPushedAgain(id, 'instance_lost', startStopwatch())
  })
})

describe('an instance that lives', () => {
  it('an instance that lives keeps its pushes when all sessions are ended, and registers again', async () => {
    const held = holdAnswers()
    const [id = ''] = await harness.push({ url: receiver.url })
    let checks = 0
    startOwner()
    await eventually(() => expect(held.length).toBe(1))
    startOwner({
      ...harness.db,
      session: async () => {
        const session = await harness.db.session()
        const row: typeof session.row = (statement, values) => {
          if (statement.name === 'instance_missing') checks += 1
          return session.row(statement, values)
        }
        return { ...session, row }
      },
    })
    await eventually(async () => expect(await sessionCount()).toBe(2))
    const before = await harness.asOwner<{ pid: number }>(sessions)
    await harness.asOwner(`select pg_terminate_backend(pid, 5000) from (${sessions}) as ended`)
    await eventually(async () => expect(await sessionCount()).toBe(2))
    const after = await harness.asOwner<{ pid: number }>(sessions)
    expect(after.filter(({ pid }) => before.some((one) => one.pid === pid))).toEqual([])
    // More than would release the leases of an instance that did not come back.
    const enough = checks + 5
    await eventually(() => expect(checks).toBeGreaterThanOrEqual(enough))
    for (const response of held) response.end()
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(await harness.attempts(id)).toMatchObject([{ number: 1, outcome: 'delivered' }])
    expect(receiver.requests).toHaveLength(1)
  })

  it('an instance that lives repeats within 5 s what ended in the moment before a crash of the database, and keeps what it posts', async () => {
    const [id = ''] = await harness.push({ url: `${receiver.url}/ended` })
    const held = holdAnswers()
    startOwner()
    await eventually(() => expect(held).toHaveLength(1))
    const [lease] = await leasesOf(harness)
    held.pop()?.end()
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    const [posted = ''] = await harness.push({ url: `${receiver.url}/posted` })
    await eventually(() => expect(held).toHaveLength(1))
    receiver.answer(status(200))
    // What a crash leaves of an attempt whose end had been committed and was not on disk.
    await harness.asOwner(
      `with lost as (delete from delivery.attempt where delivery_id = '${id}')
       update delivery.delivery set state = 'sending', lease_token = '${lease?.leaseToken}',
         lease_until = clock_timestamp() + interval '60 s', ended_at = null where delivery_id = '${id}'`,
    )
    const watch = startStopwatch()
    await harness.asOwner(`select pg_terminate_backend(pid, 5000) from (${sessions}) as ended`)
    await expectPushedAgain(id, 'outcome_lost', watch)
    held.pop()?.end()
    await eventually(async () => expect(await harness.state(posted)).toBe('delivered'))
    expect(await harness.attempts(posted)).toMatchObject([{ number: 1, outcome: 'delivered' }])
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/ended', '/posted', '/ended'])
  })

  it('pushes within 5 s of the end of a freeze of the database what a claim without an answer had taken', {
    timeout: 60_000,
  }, async () => {
    const hasPush = Promise.withResolvers<void>()
    const gaveUp = Promise.withResolvers<void>()
    let goOn: (() => void) | undefined
    const waits = { statementMs: 1_000, acquireMs: 3_000 }
    const db = harness.database.open({ limits: waits })
    // A connection that no other statement takes: a claim without one would not reach the server.
    const claiming = harness.database.open({ limits: waits, poolSize: 1 })
    startOwner({
      ...db,
      async rows<T>(...[statement, values]: Parameters<Database['rows']>): Promise<T[]> {
        if (statement.name !== 'delivery_claim') return db.rows<T>(statement, values)
        await hasPush.promise
        if (goOn === undefined) await claiming.ready()
        goOn ??= await freezeFamily(postgres.pid())
        return claiming.rows<T>(statement, values).catch((error: unknown) => {
          gaveUp.resolve()
          throw error
        })
      },
    })
    const [id = ''] = await harness.push({ url: receiver.url })
    hasPush.resolve()
    await gaveUp.promise
    goOn?.()
    await expectPushedAgain(id, 'outcome_lost', startStopwatch())
    expect(receiver.requests).toHaveLength(1)
  })
})

describe('an instance that stops', () => {
  const stoppedWith = async (leases: () => Promise<unknown>) => {
    const instance = startInstance({
      db: harness.db,
      log: silentLog,
      isHeld: () => true,
      onDue: () => undefined,
    })
    await instance.settled()
    const token = instance.issueToken()
    await leases()
    await claimDeliveries(harness.db, token, limits)
    await instance.close()
    return harness.asOwner('select from delivery.instance')
  }

  it('an instance that stops is forgotten, unless it leaves leases', async () => {
    expect(await stoppedWith(async () => undefined)).toHaveLength(0)
    expect(await stoppedWith(() => harness.push({ url: receiver.url }))).toHaveLength(1)
  })
})

describe('leases of an instance', () => {
  it('leases of an instance are released while it has no session, and those of others are not', async () => {
    const [own, other] = [randomUUID(), randomUUID()]
    const session = await harness.db.session()
    expect(await registerInstance(session, own)).toBe(true)
    expect(await checkInstances(session)).toEqual({ isStandby: false, missing: [], registered: 1 })
    const [first = ''] = await harness.push({ url: receiver.url })
    await claimDeliveries(harness.db, leaseToken(own), limits)
    const [second = ''] = await harness.push({ url: receiver.url, projectId: randomUUID() })
    await claimDeliveries(harness.db, leaseToken(other), limits)
    expect(await release(own)).toBe(0)
    session.close()
    const last = await harness.db.session()
    await eventually(async () => expect((await checkInstances(last)).missing.length).toBe(1))
    expect(await checkInstances(last)).toEqual({ isStandby: false, missing: [own], registered: 1 })
    expect(await release(own)).toBe(1)
    expect(await harness.count(`delivery_id = '${first}' and state = 'pending'`)).toBe(1)
    expect(await harness.count(`delivery_id = '${second}' and state = 'sending'`)).toBe(1)
    last.close()
  })

  it('leases of an instance are released once more when a claim of it ends late, and the instance is forgotten in the end', async () => {
    const id = randomUUID()
    const session = await harness.db.session()
    await registerInstance(session, id)
    session.close()
    await eventually(async () => expect(await sessionCount()).toBe(0))
    expect(await release(id)).toBe(0)
    await harness.push({ url: receiver.url })
    await claimDeliveries(harness.db, leaseToken(id), limits)
    expect(await release(id)).toBe(1)
    expect(await harness.asOwner('select from delivery.instance')).toHaveLength(1)
    await harness.asOwner("update delivery.instance set lost_at = now() - interval '6 minutes'")
    await release(id)
    expect(await harness.asOwner('select from delivery.instance')).toHaveLength(0)
  })

  it('leases of an instance cannot be those of two sessions', async () => {
    const id = randomUUID()
    const [first, second] = [await harness.db.session(), await harness.db.session()]
    expect(await registerInstance(first, id)).toBe(true)
    expect(await registerInstance(second, id)).toBe(false)
    first.close()
    await eventually(() => registerInstance(second, id))
    second.close()
  })
})
