// A stream that its caller breaks off never looks complete to the handler, over every protocol and transport.
import net from 'node:net'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { credentials, Client as GrpcClient, Metadata } from '@grpc/grpc-js'
import { afterEach, describe, expect, it } from 'vitest'
import {
  AccountsService,
  type UploadPersonalAccountRequest,
  UploadPersonalAccountRequestSchema,
  UploadPersonalAccountResponseSchema,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { startStopwatch } from '../../../test/support/stopwatch.ts'
import { startUploads } from '../../testing/rpc/harness.ts'

const chunkBytes = 1_000
const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A server, reached through a wire that can be cut. */
async function startCounting() {
  const arrived = Promise.withResolvers<void>()
  const { server, identityOf, seen, over } = await startUploads(({ parts }) => {
    if (parts === 2) arrived.resolve()
  })
  closers.push(() => server.close())
  const wire = await startWire(server.port)
  const authorization = identityOf('gateway').authorization('delivery')
  return { ...wire, authorization, seen, arrived: arrived.promise, over }
}

async function startWire(port: number) {
  const sockets = new Set<net.Socket>()
  const wire = net.createServer((downstream) => {
    const upstream = net.connect(port, '127.0.0.1')
    for (const socket of [downstream, upstream]) {
      sockets.add(socket)
      socket
        .on('error', () => undefined)
        .on('close', () => [downstream, upstream].map((end) => end.destroy()))
    }
    downstream.pipe(upstream).pipe(downstream)
  })
  await new Promise<void>((resolve) => void wire.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  closers.push(() => {
    cut()
    return new Promise((resolve) => void wire.close(resolve))
  })
  return { url: `http://127.0.0.1:${(wire.address() as net.AddressInfo).port}`, cut }
}

const chunk = () =>
  create(UploadPersonalAccountRequestSchema, {
    part: { case: 'chunk', value: new Uint8Array(chunkBytes) },
  })

type Counting = Awaited<ReturnType<typeof startCounting>>
type Call = { cancel(): void; end(): void; answer: Promise<string> }
type Start = (counting: Counting) => Call

/** Sends two parts, and ends only if asked to. */
const byConnect =
  (transportOf: (url: string) => Transport): Start =>
  ({ url, authorization }) => {
    const cancelling = new AbortController()
    const { promise: ending, resolve: end } = Promise.withResolvers<void>()
    async function* parts() {
      yield chunk()
      yield chunk()
      await ending
    }
    closers.push(end)
    const client = createClient(AccountsService, transportOf(url))
    const answer = client.uploadPersonalAccount(parts(), {
      signal: cancelling.signal,
      headers: { authorization },
    })
    return {
      cancel: () => cancelling.abort(),
      end,
      answer: answer.then(({ mobileNumberAsSent }) => mobileNumberAsSent),
    }
  }

const byGrpcJs: Start = ({ url, authorization }) => {
  const client = new GrpcClient(new URL(url).host, credentials.createInsecure())
  closers.push(() => client.close())
  const metadata = new Metadata()
  metadata.set('authorization', authorization)
  const { promise: answer, resolve, reject } = Promise.withResolvers<string>()
  const call = client.makeClientStreamRequest(
    '/payweave.accounts.v1.AccountsService/UploadPersonalAccount',
    (part: UploadPersonalAccountRequest) =>
      Buffer.from(toBinary(UploadPersonalAccountRequestSchema, part)),
    (bytes) => fromBinary(UploadPersonalAccountResponseSchema, bytes),
    metadata,
    { deadline: Date.now() + 10_000 },
    (error, value) => (value === undefined ? reject(error) : resolve(value.mobileNumberAsSent)),
  )
  call.write(chunk())
  call.write(chunk())
  return { cancel: () => call.cancel(), end: () => call.end(), answer }
}

const callers: Array<[string, Start]> = [
  ['gRPC (grpc-js)', byGrpcJs],
  ['gRPC (Connect)', byConnect((baseUrl) => createGrpcTransport({ baseUrl }))],
  [
    'Connect over HTTP/2',
    byConnect((baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' })),
  ],
  [
    'Connect over HTTP/1.1',
    byConnect((baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' })),
  ],
]

describe.each(callers)('a stream by %s', (_, start) => {
  it(`a stream by ${_} that ends is counted in full`, async () => {
    const counting = await startCounting()
    const call = start(counting)
    call.end()
    expect(await call.answer).toBe(String(2 * chunkBytes))
    expect(counting.seen).toEqual({ parts: 2, bytes: 2 * chunkBytes, ended: true })
  })

  it.each(['cancelled', 'cut'] as const)(
    `a stream by ${_} that is %s never looks complete`,
    async (how) => {
      const counting = await startCounting()
      const call = start(counting)
      await counting.arrived
      const watch = startStopwatch()
      if (how === 'cut') counting.cut()
      else call.cancel()
      await expect(call.answer).rejects.toBeInstanceOf(Error)
      await counting.over
      // Not only at its deadline, after 10 s.
      expect(watch.elapsedMs()).toBeLessThan(2_000)
      expect(counting.seen).toMatchObject({ parts: 2, ended: false })
      expect(counting.seen.error).toBeInstanceOf(Error)
    },
  )
})
