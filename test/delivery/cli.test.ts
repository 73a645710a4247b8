// Shows the command line against a running delivery process: what it prints, where, and with which exit code.
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { publishSurely } from '../events/harness.ts'
import { runHere, runProcess, startProcess } from '../support/command-line.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { ownBroker, type TestServer } from '../support/servers.ts'
import { createdEvent } from './event.ts'
import { migrations } from './harness.ts'
import { bearer, type DeliveryProcess, startDeliveryProcess } from './process.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

const projectId = randomUUID()

let database: TestDatabase
let broker: TestServer
let nats: Nats
let receiver: Receiver
let service: DeliveryProcess
let dataDir: string

beforeAll(async () => {
  database = await createTestDatabase('delivery', migrations)
  receiver = await startReceiver()
  // Of its own: processes of several tests would share the consumer, and each would miss events.
  broker = await ownBroker()
  nats = connectNats({ url: broker.url, name: 'test', log: silentLog })
  service = await startDeliveryProcess({
    DATABASE_URL: database.url,
    NATS_URL: broker.url,
    DELIVERY_SCHEDULE_S: '1',
  })
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'payweave-cli-'))
  writeFileSync(
    path.join(dataDir, 'sandbox.json'),
    JSON.stringify({ grpc: { delivery: service.url }, grpc_token: bearer, projects: {} }),
  )
})
afterAll(async () => {
  await service.stop('SIGKILL')
  await nats.close()
  await broker.remove()
  await receiver.close()
  await database.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

async function run(...words: string[]) {
  const { code, out, err } = await runHere(dataDir, ...words)
  return { code, out, all: out + err }
}

const forProject = ['--project', projectId]

async function pushed(url: string): Promise<void> {
  const event = createdEvent({ projectId, notify: url })
  await publishSurely(nats, event.subject, toBinary(EventSchema, event), event.eventId)
}

type Shown = {
  delivery_id: string
  state: string
  attempts?: { outcome: string; answer?: string }[]
}

async function listed(...words: string[]): Promise<Shown[]> {
  const { out } = await run('deliveries', 'list', ...forProject, '--json', ...words)
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Shown)
}

describe('payweave', () => {
  it('payweave tails, lists, shows and replays pushes', { timeout: 60_000 }, async () => {
    receiver.answer(status(500))
    const tail = startProcess(dataDir, 'events', 'tail', ...forProject)
    await eventually(() => tail.err().includes('tailing'))
    await pushed(`${receiver.url}/hook?secret=1`)
    await eventually(() => tail.out().includes('exhausted'))
    expect(tail.out()).toContain('http_500')
    expect(tail.out()).toContain(receiver.url)
    expect(tail.out()).not.toContain('secret')
    tail.child.kill('SIGINT')
    expect(await tail.ended).toMatchObject({ code: 0 })

    const [delivery] = await listed('--state', 'exhausted')
    const id = delivery?.delivery_id ?? ''
    const shown = await run('deliveries', 'show', id, ...forProject)
    expect(shown.out).toContain('state      exhausted')
    expect(shown.out).toContain('answer   {"ok":true}')
    expect(shown.code).toBe(0)

    receiver.answer(status(200))
    const replayed = await run('deliveries', 'replay', id, ...forProject)
    expect(replayed.code).toBe(0)
    await eventually(async () => expect((await listed('--state', 'delivered')).length).toBe(1))

    const many = await run('deliveries', 'replay', '--state', 'delivered', ...forProject)
    expect(many.out).toMatch(/done {2}1 made due/)
    const [, jobId = ''] = /replay ([\da-f-]{36})/.exec(many.out) ?? []
    const ended = await run('replay', 'list', '--state', 'done', ...forProject)
    expect(ended.out).toMatch(new RegExp(` ${jobId} +done +1 `))
    const running = await run('replay', 'list', '--state', 'running', ...forProject)
    expect(running.out).toBe('no replays\n')
    const stopped = await run('replay', 'stop', jobId, ...forProject)
    expect(stopped.out).toContain(`replay ${jobId}  done`)
    expect((await run('replay', 'pause', randomUUID(), ...forProject)).code).toBe(1)
    await eventually(() => expect(receiver.requests.length).toBe(4))
    const again = await run('deliveries', 'cancel', id, ...forProject)
    expect(again.code).toBe(1)
    expect(again.all).toContain('DELIVERY_ENDED')
  })

  it('payweave lists and replays pushes by time with a bearer, and pauses, resumes and stops a replay', async () => {
    const project = randomUUID()
    const of = ['--project', project]
    const urls = { notify: `${receiver.url}/replays`, callback: `${receiver.url}/replays` }
    for (let one = 0; one < 5; one += 1) {
      const event = createdEvent({ projectId: project, ...urls, callbackSequence: 1 })
      await publishSurely(nats, event.subject, toBinary(EventSchema, event), event.eventId)
    }
    const list = (...words: string[]) => run('deliveries', 'list', ...of, ...words)
    await eventually(async () => {
      const { out } = await list('--state', 'delivered', '--json')
      expect(out.trim().split('\n')).toHaveLength(10)
    })
    const [past, future] = ['2026-01-01 00:00:00', '2999-01-01 00:00:00']
    const within = await list('--created-from', past, '--created-to', future, '--json')
    expect(within.out.trim().split('\n')).toHaveLength(10)
    expect((await list('--created-from', future)).out).toBe('no deliveries\n')
    expect((await list('--created-to', 'soon')).code).toBe(2)
    expect((await list('--event-type', 'payment_completed')).code).toBe(2)

    const replay = (...words: string[]) => run('replay', ...words, ...of)
    expect((await replay('list')).out).toBe('no replays\n')
    // Ten at one a second: it runs until it is paused.
    const words = ['--state', 'delivered', '--created-from', past, '--rate', '1', '--json']
    const replaying = startProcess(dataDir, 'deliveries', 'replay', ...words, ...of)
    const running = await eventually(async () => {
      const { out } = await replay('list', '--json')
      return out !== '' && (JSON.parse(out) as { job_id: string; filter: { from_time: string } })
    })
    if (!running) throw new Error('there is a replay')
    const { job_id: id, filter } = running
    expect(filter.from_time).toBe('2026-01-01T00:00:00Z')
    expect((await replay('pause', id)).out).toContain(`replay ${id}  paused `)
    expect((await replay('list', '--state', 'paused')).out).toContain(id)
    expect((await replay('resume', id)).out).toContain(`replay ${id}  running `)
    expect((await replay('stop', id)).out).toContain(`replay ${id}  cancelled `)
    expect(await replaying.ended).toMatchObject({ code: 0 })
    for (const wrong of [['pause'], ['pause', 'x'], ['end', id]]) {
      expect([wrong, (await replay(...wrong)).code]).toEqual([wrong, 2])
    }
    for (const wrong of [
      ['--created-from', 'soon'],
      ['--from', past],
    ]) {
      expect([wrong, (await run('deliveries', 'replay', ...wrong, ...of)).code]).toEqual([wrong, 2])
    }
    const help = await run('replay', 'list', '--help')
    expect(help).toMatchObject({ code: 0, out: expect.stringContaining('Example:\n  payweave ') })
  })

  it('payweave receives pushes on this machine and prints them with headers and body', async () => {
    const listening = startProcess(dataDir, 'listen', '--port', '0', '--count', '1')
    await eventually(() => listening.err().includes('listening on'))
    const [, url = ''] = /listening on (\S+)/.exec(listening.err()) ?? []
    await pushed(`${url}/hook`)
    expect(await listening.ended).toMatchObject({ code: 0 })
    expect(listening.out()).toContain('POST /hook')
    expect(listening.out()).toContain('content-type: application/json')
    expect(listening.out()).toContain('  "event_type": "payment_initiated"')
  })

  it('payweave forwards pushes to a handler as they came, and responds with its status', async () => {
    const handler = await startReceiver(status(418))
    const to = ['--forward-to', `${handler.url}/pushes`]
    const listening = startProcess(dataDir, 'listen', '--port', '0', '--count', '2', ...to)
    await eventually(() => listening.err().includes('listening on'))
    const [, url = ''] = /listening on (\S+)/.exec(listening.err()) ?? []
    const body = '{"event_type":"payment_completed","name":"Ama Mensah, Accra – 25.00"}'
    const headers = { 'content-type': 'application/json', 'PW-delivery-id': randomUUID() }
    const post = () => fetch(url, { method: 'POST', headers, body })
    expect((await post()).status).toBe(418)
    const [request] = handler.requests
    expect([request?.path, request?.body]).toEqual(['/pushes', body])
    expect(request?.headers).toMatchObject({ 'pw-delivery-id': headers['PW-delivery-id'] })
    await handler.close()
    // The push is retried when the handler is back.
    expect((await post()).status).toBe(502)
    expect(await listening.ended).toMatchObject({ code: 0 })
    expect(listening.err()).toContain('HTTP 418')
    expect(listening.err()).toContain('ECONNREFUSED')
  })

  it.each([
    ['no command', [], 2],
    ['an unknown command', ['deliveries', 'lisst'], 2],
    ['an unknown option', ['deliveries', 'list', '--nonsense'], 2],
    ['an unknown state', ['deliveries', 'list', ...forProject, '--state', 'lost'], 2],
    ['a project that sandbox.json does not name', ['deliveries', 'list', '--project', 'x'], 2],
    ['an unknown delivery', ['deliveries', 'show', randomUUID(), ...forProject], 1],
    [
      'a service that is away',
      [
        'deliveries',
        'list',
        ...forProject,
        '--url',
        'http://127.0.0.1:1',
        '--token',
        'x',
        '--data-dir',
        '/nowhere',
      ],
      2,
    ],
    ['help', ['deliveries', 'replay', '--help'], 0],
  ] as const)('payweave ends after %s as documented', async (_what, words, code) => {
    expect((await run(...words)).code).toBe(code)
  })

  it.concurrent('payweave is a process that exits with the code of its command', async () => {
    expect(await runProcess(dataDir)).toMatchObject({ code: 2 })
    const list = await runProcess(dataDir, 'deliveries', 'list', ...forProject, '--json')
    expect(list).toMatchObject({ code: 0, err: '' })
  })

  // Long enough for the tail to have begun, on a machine that stalls.
  it.concurrent('payweave ends a tail at the deadline that it was given', async () => {
    const { code, all } = await run('events', 'tail', ...forProject, '--for', '4')
    expect(code).toBe(0)
    expect(all).toBe('tailing\n')
  })

  it.concurrent('payweave ends a tail when its bearer is no longer accepted', async () => {
    const sha256 = createHash('sha256').update(bearer).digest('hex')
    writeIdentities(dataDir, ['delivery'], [{ name: 'operator', sha256, rpcs: ['*'] }])
    const dir = path.join(dataDir, 'delivery')
    let calls = 0
    const server = await serveRpc({
      host: '127.0.0.1',
      port: 0,
      identity: openIdentity({ name: 'delivery', dir, log: silentLog }),
      log: silentLog,
      routes: (router) => {
        const handlers = {
          async *tailDeliveries() {
            calls += 1
            if (calls > 1) throw new Failure('UNAUTHENTICATED', 'no valid credential')
            yield { event: { case: 'gap' as const, value: { droppedCount: 0n } } }
            throw new Failure('SERVICE_UNAVAILABLE', 'the server stops')
          },
        }
        router.service(DeliveryService, handlers)
      },
    })
    const at = ['--url', `http://127.0.0.1:${server.port}`, '--token', bearer]
    const { code, all } = await run('events', 'tail', ...forProject, ...at)
    await server.close()
    expect([code, calls]).toEqual([1, 2])
    expect(all).toContain('starts again')
    expect(all).toContain('UNAUTHENTICATED')
  })

  it.concurrent('payweave never prints the bearer', async () => {
    const { code, all } = await run(
      'deliveries',
      'list',
      ...forProject,
      '--token',
      'secret-bearer-123',
    )
    expect(code).toBe(1)
    expect(all).toContain('UNAUTHENTICATED')
    expect(all).not.toContain('secret-bearer-123')
  })
})

describe('the RPCs', () => {
  it('the RPCs show how receivers are doing', async () => {
    const { endpoints } = (await service.call(
      'payweave.delivery.v1.EndpointService/ListEndpoints',
      {
        projectId,
      },
    )) as { endpoints: { endpointId: string; origin: string; breaker: string }[] }
    expect(endpoints.map(({ origin }) => origin)).toContain(receiver.url)
    const endpointId = endpoints[0]?.endpointId
    const get = (request: object) =>
      service.call('payweave.delivery.v1.EndpointService/GetEndpoint', request)
    expect(await get({ projectId, endpointId })).toMatchObject({ endpoint: { endpointId } })
    expect(await get({ projectId: randomUUID(), endpointId })).toMatchObject({ code: 'not_found' })
  })

  it('the RPCs show the lanes of a host page by page, each with its kind', async () => {
    const project = randomUUID()
    const urls = { notify: `${receiver.url}/lanes`, callback: `${receiver.url}/lanes` }
    const event = createdEvent({ projectId: project, ...urls, callbackSequence: 1 })
    await publishSurely(nats, event.subject, toBinary(EventSchema, event), event.eventId)
    const arrived = () => receiver.requests.filter(({ path }) => path === '/lanes')
    await eventually(() => expect(arrived().length).toBe(2))
    const page = (pageToken = '') =>
      service.call('payweave.delivery.v1.EndpointService/ListEndpoints', {
        projectId: project,
        pageSize: 1,
        pageToken,
      }) as Promise<{ endpoints: { kind: string }[]; nextPageToken?: string; code?: string }>
    const first = await page()
    const second = await page(first.nextPageToken)
    const kinds = [...first.endpoints, ...second.endpoints].map(({ kind }) => kind)
    expect(kinds).toEqual(['DELIVERY_KIND_CALLBACK', 'DELIVERY_KIND_NOTIFY'])
    expect(second.nextPageToken).toBeUndefined()
    const forged = Buffer.from(`${receiver.url} letter`).toString('base64url')
    expect(await page(forged)).toMatchObject({ code: 'invalid_argument' })

    const { out } = await run('deliveries', 'lanes', '--project', project)
    expect(out).toMatch(/^http:\S+ {2}callback {2}\d {8}2 {6}0 .* closed .* [\da-f-]{36}$/m)
    const shown = await run('deliveries', 'lanes', '--project', project, '--json')
    expect(shown.out).toContain('"kind":"DELIVERY_KIND_NOTIFY"')
    const [, laneId = ''] = /callback .* ([\da-f-]{36})$/m.exec(out) ?? []
    const paused = await run('deliveries', 'pause', laneId, '--project', project, '--note', 'moves')
    expect(paused.out).toContain(`the lane ${laneId} is paused`)
    const list = await run('deliveries', 'lanes', '--project', project, '--json')
    expect(list.out.match(/"pause_time"/g)).toHaveLength(1)
    await run('deliveries', 'resume', laneId, '--project', project)
    const changes = await run('deliveries', 'pauses', '--project', project)
    expect(changes.out).toMatch(new RegExp(` resumed .* ${laneId}`))
    expect(changes.out).toMatch(new RegExp(` paused .* ${laneId} +moves`))
    expect((await run('deliveries', 'pause', randomUUID(), '--project', project)).code).toBe(1)
  })

  it.each([
    ['a key that is missing', {}, 'invalid_argument'],
    [
      'a state in which nothing has ended',
      { idempotencyKey: 'k', filter: { state: 'DELIVERY_STATE_PENDING' } },
      'invalid_argument',
    ],
    [
      'an origin with a path',
      { idempotencyKey: 'k', filter: { origin: 'https://shop.example/hook' } },
      'invalid_argument',
    ],
    ['a rate beyond the most', { idempotencyKey: 'k', ratePerS: 1_001 }, 'invalid_argument'],
    [
      'times the wrong way round',
      {
        idempotencyKey: 'k',
        filter: { fromTime: '2026-02-01T00:00:00Z', toTime: '2026-01-01T00:00:00Z' },
      },
      'invalid_argument',
    ],
  ])('the RPCs refuse a replay with %s', async (_what, request, code) => {
    const answer = await service.call('payweave.delivery.v1.ReplayService/CreateReplayJob', {
      projectId,
      ...request,
    })
    expect(answer).toMatchObject({ code })
  })
})
