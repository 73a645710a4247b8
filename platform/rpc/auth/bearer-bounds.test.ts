// Proves that a bearer bound to a project or a time is restricted to it on every transport.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { create, toBinary, toJsonString } from '@bufbuild/protobuf'
import { afterEach, describe, expect, it } from 'vitest'
import {
  DeliveryService,
  TailDeliveriesRequestSchema,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { GetPaymentRequestSchema, PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { eventually } from '../../../test/support/eventually.ts'
import { dialCallStream, enveloped } from '../../testing/rpc/call-streams.ts'
import { bearerCredential, listeningLog, newSecrets } from '../../testing/rpc/harness.ts'
import { errorOf, errorOfBytes, type Way, ways } from '../../testing/rpc/raw-calls.ts'
import { serveRpc } from '../server/server.ts'
import { projectOf } from './callers.ts'
import { openIdentity } from './identity.ts'
import type { Bearer } from './trust.ts'

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const own = '0197a9b0-3f6a-7000-8000-00000000000a'
const other = '0197a9b0-3f6a-7000-8000-00000000000b'

/** `payments` and a tail of deliveries, whose handlers note the project that they are asked about. */
async function start(bounds: Partial<Bearer>) {
  const dir = newSecrets({ rpcs: ['*'], ...bounds })
  const { lines, log } = listeningLog()
  const seen: string[] = []
  const server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: openIdentity({ name: 'payments', dir: join(dir, 'payments'), log }),
    log,
    routes(router) {
      router.service(PaymentsService, {
        getPayment({ projectId }, context) {
          expect(projectOf(context, projectId)).toBe(projectId)
          seen.push(projectId)
          return {}
        },
      })
      router.service(DeliveryService, {
        async *tailDeliveries({ projectId }, { signal }) {
          seen.push(projectId)
          yield {}
          await new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason))
          })
        },
      })
    },
  })
  closers.push(() => server.close())
  return { port: server.port, seen, lines }
}

/** Codes of gRPC. */
const [deadlineExceeded, unauthenticated] = ['4', '16']
const headers = { authorization: `Bearer ${bearerCredential}` }
const path = '/payweave.payments.v1.PaymentsService/GetPayment'
const tail = '/payweave.delivery.v1.DeliveryService/TailDeliveries'

describe('a bearer that is bound to a project', () => {
  const unary = (Object.keys(ways) as Way[]).filter((way) => way !== 'a stream of Connect')

  it.each(unary)('a bearer that is bound to a project acts for it alone, over %s', async (way) => {
    const { port, seen } = await start({ project_id: own.toUpperCase() })
    const ask = (projectId: string) => {
      const message = create(GetPaymentRequestSchema, { projectId, paymentId: randomUUID() })
      const body = way.includes('JSON')
        ? Buffer.from(toJsonString(GetPaymentRequestSchema, message))
        : toBinary(GetPaymentRequestSchema, message)
      return errorOf(way, { port, path, headers, body })
    }
    expect((await ask(own)).code).toBe('ok')
    expect((await ask(own.toUpperCase())).code).toBe('ok')
    expect((await ask('')).code).toBe('ok')
    expect(await ask(other)).toMatchObject({
      code: 'PermissionDenied',
      reason: 'PERMISSION_DENIED',
    })
    expect(seen).toEqual([own, own, own])
  })

  it('a bearer that is bound to a project acts for it alone in streams, and calls no method that is about no project', async () => {
    const { port, seen } = await start({ project_id: own })
    const message = create(TailDeliveriesRequestSchema, { projectId: other })
    const body = toBinary(TailDeliveriesRequestSchema, message)
    for (const way of ['gRPC over HTTP/2', 'a stream of Connect'] as const) {
      expect(await errorOf(way, { port, path: tail, headers, body })).toMatchObject({
        code: 'PermissionDenied',
        reason: 'PERMISSION_DENIED',
      })
    }
    expect(seen).toEqual([])
  })
})

/** A bearer that expires soon may have expired before its call arrives. So these tests open streams until one is accepted. */
describe('a stream', () => {
  const startBriefly = () => start({ expires: new Date(Date.now() + 1_500).toISOString() })

  it('a stream does not outlive the bearer that opened it', async () => {
    const more = { 'content-type': 'application/grpc', 'grpc-timeout': '23H', te: 'trailers' }
    const { port, error } = await eventually(async () => {
      const { port, seen } = await startBriefly()
      const call = { port, path: tail, headers: { ...headers, ...more } }
      const error = await errorOfBytes('2', { ...call, body: enveloped(new Uint8Array(0)) })
      return seen.length > 0 && { port, error }
    })
    expect(error).toMatchObject({ code: 'DeadlineExceeded', reason: 'TIMEOUT' })
    const after = await errorOf('gRPC over HTTP/2', { port, path, headers })
    expect(after).toMatchObject({ code: 'Unauthenticated', reason: 'UNAUTHENTICATED' })
  })

  it.each([undefined, 'x'])(
    'a stream of calls does not outlive the bearer that opened it, with the time-out %s',
    async (timeout) => {
      const { stream, status } = await eventually(async () => {
        const { port } = await startBriefly()
        const { stream, ended } = await dialCallStream(port, { ...headers, timeout })
        const status = await ended
        return status !== unauthenticated && { stream, status }
      })
      expect(status).toBe(deadlineExceeded)
      expect(stream.destroyed).toBe(true)
    },
  )
})
