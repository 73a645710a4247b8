// Tests how a caller handles responses that are not those of a server of ours.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { type Dispatcher, Pool } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import {
  Health,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from '#gen/health/v1/health_pb.js'
import type { StreamedHandler } from '../call-stream/client.ts'
import { callUnary } from './exchange.ts'
import { wasNotSent } from './not-sent.ts'

let server: Server | undefined
let pool: Pool | undefined

afterEach(async () => {
  await pool?.destroy()
  server?.closeAllConnections()
  server?.close()
})

/** Calls Health/Check of a server that answers so. */
async function call(
  answer: RequestListener,
  more: { timeoutMs?: number; signal?: AbortSignal } = {},
) {
  const listening = createServer(answer)
  server = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  pool = new Pool(`http://127.0.0.1:${(listening.address() as AddressInfo).port}`)
  return await callUnary(pool, {
    method: Health.method.check,
    path: '/grpc.health.v1.Health/Check',
    message: {},
    header: { authorization: 'Bearer x' },
    timeoutMs: 5_000,
    signal: undefined,
    maxBytes: 1_024,
    ...more,
  })
}

async function codeOf(work: Promise<unknown>): Promise<Code | undefined> {
  return await work.then(
    () => undefined,
    (error: unknown) => (error instanceof ConnectError ? error.code : undefined),
  )
}

const status = HealthCheckResponse_ServingStatus.SERVING
const body = toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status }))

describe('a call', () => {
  it('a call says what it is in headers and reads the message', async () => {
    const asked: unknown[] = []
    const { message } = await call((request, response) => {
      const { headers, method, url } = request
      asked.push(method, url, headers['content-type'], headers['connect-protocol-version'])
      asked.push(headers['connect-timeout-ms'], headers.authorization)
      response.writeHead(200, { 'content-type': 'application/proto' })
      // In pieces.
      response.write(body.subarray(0, 1))
      setTimeout(() => response.end(body.subarray(1)), 20)
    })
    expect(message.status).toBe(status)
    expect(asked).toEqual([
      'POST',
      '/grpc.health.v1.Health/Check',
      'application/proto',
      '1',
      '5000',
      'Bearer x',
    ])
  })

  it('a call is given up at its time limit and when its signal says so', async () => {
    expect(await codeOf(call(() => undefined, { timeoutMs: 50 }))).toBe(Code.DeadlineExceeded)
    const signal = AbortSignal.timeout(50)
    expect(await codeOf(call(() => undefined, { signal }))).toBe(Code.Canceled)
    expect(await codeOf(call(() => undefined, { signal }))).toBe(Code.Canceled)
  })
})

/** Makes a call through a scripted dispatcher; returns whether the error says that nothing was sent. */
async function unsent(dispatch: (handler: StreamedHandler) => void): Promise<boolean> {
  const dispatcher = {
    dispatch: (_: unknown, handler: StreamedHandler) => dispatch(handler),
  } as unknown as Dispatcher
  const error = await callUnary(dispatcher, {
    method: Health.method.check,
    path: '/grpc.health.v1.Health/Check',
    message: {},
    header: {},
    timeoutMs: 50,
    signal: undefined,
    maxBytes: 1_024,
  }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConnectError)
  return wasNotSent(error)
}

const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController

describe('a call that fails', () => {
  it.each<[string, boolean, (handler: StreamedHandler) => void]>([
    [
      'because nothing connects',
      true,
      (handler) => handler.onResponseError?.(controller, new Error('refused')),
    ],
    ['because its time is over before it is sent', true, () => undefined],
    [
      'because its time is over',
      false,
      (handler) => handler.onRequestStart?.(controller, undefined),
    ],
    [
      'because the connection breaks',
      false,
      (handler) => {
        handler.onRequestStart?.(controller, undefined)
        handler.onResponseError?.(controller, new Error('reset'))
      },
    ],
    [
      'because the other side gave it back and nothing connects then',
      true,
      (handler) => {
        handler.onRequestStart?.(controller, undefined)
        handler.onReturned?.()
        handler.onResponseError?.(controller, new Error('refused'))
      },
    ],
  ])('a call that fails with %s: that it was not sent is %s', async (_, expected, dispatch) => {
    expect(await unsent(dispatch)).toBe(expected)
  })
})

describe('an answer', () => {
  it.each([
    ['a page of a proxy that cannot reach it', 502, 'text/html', 'bad', Code.Unavailable],
    ['a refusal', 404, 'application/json', '{"code":"not_found","message":"no"}', Code.NotFound],
    ['a refusal without sense', 429, 'application/json', '[', Code.Unavailable],
    ['another type', 200, 'text/plain', 'hello', Code.Unknown],
    ['a malformed message', 200, 'application/proto', '\u0008', Code.Internal],
    ['a message that is too long', 200, 'application/proto', 'x'.repeat(2_000), 8],
  ])('an answer that is %s becomes an error', async (_, code, type, text, expected) => {
    const answered = call((_request, response) => {
      response.writeHead(code, { 'content-type': type }).end(text)
    })
    expect(await codeOf(answered)).toBe(expected)
  })

  it('an answer that is compressed without a request for it is refused', async () => {
    const headers = { 'content-type': 'application/proto', 'content-encoding': 'gzip' }
    const answered = call((_, response) => void response.writeHead(200, headers).end(body))
    expect(await codeOf(answered)).toBe(Code.Internal)
  })

  it('an answer that breaks off is an error', async () => {
    const answered = call((_, response) => {
      response.writeHead(200, { 'content-type': 'application/proto', 'content-length': '100' })
      response.write(body, () => response.destroy())
    })
    expect(await codeOf(answered)).toBe(Code.Unavailable)
  })
})
