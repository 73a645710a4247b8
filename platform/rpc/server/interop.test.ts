// Proves that clients see no difference between the routes of a unary call, and that our client works with foreign servers.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type HandlerContext,
  type Interceptor,
  type ServiceImpl,
  type Transport,
} from '@connectrpc/connect'
import type { UniversalClientFn } from '@connectrpc/connect/protocol'
import { createTransport } from '@connectrpc/connect/protocol-connect'
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node'
import { credentials, Client as GrpcClient, Metadata, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.js'
import {
  InboxService,
  type SeenRequest,
  SeenRequestSchema,
  type SeenResponse,
  SeenResponseSchema,
} from '#gen/payweave/events/v1/events_pb.js'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import { oldService } from '../../testing/rpc/old-service.ts'
import { startProxy, untilStreamed } from '../../testing/rpc/tcp-proxy.ts'
import { bearerIdentity } from '../auth/identity.ts'
import { createRpcClient, createRpcPool } from '../client/client.ts'
import { currentContext, runWithContext } from '../context.ts'

type Seen = ServiceImpl<typeof InboxService>['seen']

const closers: Array<() => unknown> = []
let url: string

beforeAll(async () => {
  const { server, url: started } = await startInbox(seen)
  closers.push(() => server.close())
  url = started
})
afterAll(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Answers, refuses or waits as it is asked, and echoes the request header. */
const seen: Seen = async ({ eventIds }, context) => {
  const [what] = eventIds
  if (what === 'refuse') throw refusal
  if (what === 'wait') await new Promise((_, reject) => onAbort(context, reject))
  if (what === 'large') return { known: [{ eventId: 'x'.repeat(5 << 20) }] }
  context.responseHeader.set('pw-kind', 'head')
  context.responseHeader.append('pw-list', 'one')
  context.responseHeader.append('pw-list', 'two')
  context.responseTrailer.set('pw-kind', 'tail')
  const extra = context.requestHeader.get('pw-extra') ?? ''
  return { known: [...eventIds, extra].map((eventId) => ({ eventId, state: 1 })) }
}

const refusal = new Failure('INVALID_PARAMETER', 'bad id – naïve', {
  details: { field: 'event_ids' },
})

function onAbort({ signal }: HandlerContext, reject: (reason: unknown) => void): void {
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
}

/** What a call came to, in one form for every client. */
type Outcome = {
  code: string
  text: string
  ids?: string[]
  head?: string | null
  list?: string | null
  tail?: string | null
  reason?: string | undefined
  field?: string | undefined
}

type Ask = (eventIds: string[], timeoutMs?: number) => Promise<Outcome>

/** How long a call may take that is to be answered. */
const maxMs = 15_000

const authorize: Interceptor = (next) => (request) => {
  request.header.set('authorization', `Bearer ${bearerCredential}`)
  return next(request)
}

/** A call of a client that has Connect's interface. */
function asking(client: Client<typeof InboxService>): Ask {
  return async (eventIds, timeoutMs = maxMs) => {
    const outcome: Outcome = { code: 'ok', text: '' }
    try {
      const answer = await client.seen(
        { eventIds },
        {
          timeoutMs,
          headers: { 'pw-extra': 'by header' },
          onHeader(header) {
            outcome.head = header.get('pw-kind')
            outcome.list = header.get('pw-list')
          },
          onTrailer(trailer) {
            outcome.tail = trailer.get('pw-kind')
          },
        },
      )
      return { ...outcome, ids: answer.known.map(({ eventId }) => eventId) }
    } catch (thrown) {
      const error = ConnectError.from(thrown instanceof Failure ? thrown.cause : thrown)
      const [info] = error.findDetails(ErrorInfoSchema)
      return {
        code: Code[error.code],
        text: error.rawMessage,
        reason: info?.reason,
        field: info?.metadata['field'],
      }
    }
  }
}

const stock = { useBinaryFormat: true, interceptors: [authorize] }
const universal = {
  ...stock,
  acceptCompression: [],
  sendCompression: null,
  compressMinBytes: 1_024,
  readMaxBytes: 4 << 20,
  writeMaxBytes: 4 << 20,
}

/** Sends the length of its body, as clients in other languages do. */
const wholeBodies: UniversalClientFn = async ({ url: target, header, body, signal }) => {
  const chunks: Uint8Array[] = []
  for await (const chunk of body ?? []) chunks.push(chunk)
  const answer = await fetch(target, {
    method: 'POST',
    headers: header,
    body: Buffer.concat(chunks),
    signal: signal ?? null,
  })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  return {
    status: answer.status,
    header: answer.headers,
    body: (async function* () {
      yield bytes
    })(),
    trailer: new Headers(),
  }
}

function ownClient(url: string): Client<typeof InboxService> {
  const pool = createRpcPool(url)
  closers.push(() => pool.close())
  const identity = bearerIdentity(bearerCredential)
  return createRpcClient(InboxService, { url, audience: 'delivery', identity, pool })
}

/** Over a call stream, which is there once a call has gone over it. */
function streamedClient(url: string): Ask {
  const streamed = openStreamed(url)
  return async (...asked) => (await streamed)(...asked)
}

async function openStreamed(url: string): Promise<Ask> {
  const proxy = await startProxy(url)
  closers.push(() => proxy.close())
  const ask = asking(ownClient(proxy.url))
  await untilStreamed(proxy, () => ask(['first']))
  return ask
}

function through(make: (baseUrl: string) => Transport) {
  return (url: string): Ask => asking(createClient(InboxService, make(url)))
}

function grpcJs(url: string): Ask {
  const client = new GrpcClient(new URL(url).host, credentials.createInsecure())
  closers.push(() => client.close())
  return (eventIds, timeoutMs = maxMs) =>
    new Promise((resolve) => {
      const outcome: Outcome = { code: 'OK', text: '' }
      const metadata = new Metadata()
      metadata.set('authorization', `Bearer ${bearerCredential}`)
      metadata.set('pw-extra', 'by header')
      const call = client.makeUnaryRequest<SeenRequest, SeenResponse>(
        '/payweave.events.v1.InboxService/Seen',
        (message) => Buffer.from(toBinary(SeenRequestSchema, message)),
        (bytes) => fromBinary(SeenResponseSchema, bytes),
        { $typeName: 'payweave.events.v1.SeenRequest', eventIds },
        metadata,
        { deadline: Date.now() + timeoutMs },
        (error, answer) => {
          if (answer === undefined) {
            const info = String(error?.metadata.get('grpc-status-details-bin')[0])
            const isOurs = info.includes(refusal.reason) && info.includes('event_ids')
            const found = isOurs ? { reason: refusal.reason, field: 'event_ids' } : {}
            resolve({ code: Code[error?.code ?? 0] ?? '', text: error?.details ?? '', ...found })
          } else outcome.ids = answer.known.map(({ eventId }) => eventId)
        },
      )
      call.on('metadata', (header) => {
        outcome.head = String(header.get('pw-kind')[0])
        outcome.list = header.get('pw-list').join(', ')
      })
      call.on('status', ({ code, metadata: trailer }) => {
        if (code !== status.OK) return
        resolve({ ...outcome, code: 'ok', tail: String(trailer.get('pw-kind')[0]) })
      })
    })
}

const clients: Array<[string, (url: string) => Ask]> = [
  ['our client', (url) => asking(ownClient(url))],
  ['our client over a call stream', streamedClient],
  [
    'Connect answeringWith the length of its body',
    through((baseUrl) => createTransport({ ...universal, baseUrl, httpClient: wholeBodies })),
  ],
  [
    'Connect sending its body in chunks',
    through((baseUrl) => createConnectTransport({ ...stock, baseUrl, httpVersion: '1.1' })),
  ],
  [
    'Connect in JSON',
    through((baseUrl) =>
      createConnectTransport({ ...stock, baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
    ),
  ],
  [
    'Connect over HTTP/2',
    through((baseUrl) => createConnectTransport({ ...stock, baseUrl, httpVersion: '2' })),
  ],
  ['gRPC of Connect', through((baseUrl) => createGrpcTransport({ ...stock, baseUrl }))],
  [
    'gRPC-Web over HTTP/1.1',
    through((baseUrl) => createGrpcWebTransport({ ...stock, baseUrl, httpVersion: '1.1' })),
  ],
  [
    'gRPC-Web over HTTP/2',
    through((baseUrl) => createGrpcWebTransport({ ...stock, baseUrl, httpVersion: '2' })),
  ],
  ['grpc-js', grpcJs],
]

describe.each(clients)('%s', (_, open) => {
  it(`${_} gets the message, headers and trailers of the handler`, async () => {
    expect(await open(url)(['a', 'b'])).toEqual({
      code: 'ok',
      text: '',
      ids: ['a', 'b', 'by header'],
      head: 'head',
      list: 'one, two',
      tail: 'tail',
    })
  })

  it(`${_} gets a refusal with its details, its deadline, and no answer that is too large`, async () => {
    const ask = open(url)
    expect(await ask(['refuse'])).toEqual({
      code: 'InvalidArgument',
      text: 'bad id – naïve',
      reason: 'INVALID_PARAMETER',
      field: 'event_ids',
    })
    expect((await ask(['wait'], 100)).code).toBe('DeadlineExceeded')
    expect((await ask(['large'])).code).toBe('ResourceExhausted')
    expect((await ask(['a'])).code).toBe('ok')
  })
})

/** Connect's own server, which knows nothing of us. */
async function startStock(handler: Seen): Promise<string> {
  const routes = connectNodeAdapter({
    routes: (router) => void router.service(oldService(InboxService), { seen: handler }),
  })
  const server = createServer(routes)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('our client at a server of Connect', () => {
  it('our client at a server of Connect gets message, headers and trailers, and hands on request, trace and deadline', async () => {
    let received: Record<string, string | null> = {}
    let leftMs = 0
    const stockUrl = await startStock((request, context) => {
      const read = (name: string) => context.requestHeader.get(name)
      received = {
        id: read('pw-request-id'),
        trace: read('traceparent'),
        who: read('authorization'),
      }
      leftMs = context.timeoutMs() ?? 0
      return seen(request, context)
    })
    const requestId = '0197a9b0-3f6a-7000-8000-0000000000aa'
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const outer = { requestId, traceparent, deadline: Date.now() + 9_000 }
    const ask = asking(ownClient(stockUrl))
    const outcome = await runWithContext(outer, () => ask(['a']))
    expect(outcome).toMatchObject({ code: 'ok', ids: ['a', 'by header'], tail: 'tail' })
    expect(outcome).toMatchObject({ head: 'head', list: 'one, two' })
    expect(received).toEqual({
      id: requestId,
      trace: traceparent,
      who: `Bearer ${bearerCredential}`,
    })
    expect(leftMs).toBeGreaterThan(0)
    expect(leftMs).toBeLessThanOrEqual(9_000)
    expect(currentContext()).toBeUndefined()
  })

  it('our client at a server of Connect understands its refusals and time-outs, and cancels its calls', async () => {
    const [entered, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const stockUrl = await startStock(async ({ eventIds }, context) => {
      if (eventIds[1] === 'leave') {
        onAbort(context, () => gone.resolve())
        entered.resolve()
      }
      if (eventIds[0] !== 'refuse') return await seen({ ...empty, eventIds }, context)
      throw new ConnectError('no', Code.AlreadyExists, undefined, [
        { desc: ErrorInfoSchema, value: { reason: 'NAME_TAKEN', domain: 'payweave' } },
      ])
    })
    const client = ownClient(stockUrl)
    const ask = asking(client)
    expect(await ask(['refuse'])).toMatchObject({ code: 'AlreadyExists', reason: 'NAME_TAKEN' })
    expect((await ask(['wait'], 100)).code).toBe('DeadlineExceeded')
    const leaving = new AbortController()
    const call = client.seen({ eventIds: ['wait', 'leave'] }, { signal: leaving.signal })
    const leave = entered.promise.then(() => leaving.abort())
    await expect(call).rejects.toMatchObject({ reason: 'TIMEOUT' })
    await leave
    await gone.promise
  })
})

const empty: SeenRequest = { $typeName: 'payweave.events.v1.SeenRequest', eventIds: [] }
