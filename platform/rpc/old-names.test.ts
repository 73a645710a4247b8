// Tests that processes of the previous release, whose contracts were not below `payweave.`, and of this one work together.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  create,
  createFileRegistry,
  type DescMethod,
  fromBinary,
  getOption,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { field as rulesOf } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { type ConnectRouter, createClient } from '@connectrpc/connect'
import { connectNodeAdapter, createGrpcTransport } from '@connectrpc/connect-node'
import { afterEach, describe, expect, it } from 'vitest'
import { ServerReflection } from '#gen/grpc/reflection/v1/reflection_pb.js'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/health/v1/health_pb.js'
import { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  InboxService,
  SeenRequestSchema,
  SeenResponseSchema,
} from '#gen/payweave/events/v1/events_pb.js'
import { eventually } from '../../test/support/eventually.ts'
import { dialCallStream, startCallStreamServer } from '../testing/rpc/call-streams.ts'
import { bearerCredential, newSecrets, startInbox } from '../testing/rpc/harness.ts'
import { oldService } from '../testing/rpc/old-service.ts'
import { openIdentity } from './auth/identity.ts'
import { createRpcClient } from './client/client.ts'
import { oldName } from './old-names.ts'
import type { ServeRpcOptions } from './server/server.ts'

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const oldPath = '/events.v1.InboxService/Seen'
const authorization = `Bearer ${bearerCredential}`
const eventIds = ['one', 'two']

/** A server of this version. */
async function startNew(options: Partial<ServeRpcOptions> = {}) {
  const observed: string[] = []
  const metrics = {
    began: () => undefined,
    ended: () => undefined,
    observe: (method: string, code: string) => void observed.push(`${method} ${code}`),
  }
  const started = await startInbox(
    ({ eventIds: asked }) => ({ known: asked.map((eventId) => ({ eventId, state: 1 })) }),
    { metrics, ...options },
  )
  closers.push(() => started.server.close())
  return { ...started, observed }
}

/** A server of the previous release: it knows old names alone, and no call streams. */
async function startOld(routes: (router: ConnectRouter) => void): Promise<string> {
  const server = createServer(connectNodeAdapter({ routes }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of stream) found.push(one)
  return found
}

const identity = { authorization: () => authorization }

describe('an old name', () => {
  it.each([
    ['payweave.payments.v1.PaymentsService', 'payments.v1.PaymentsService'],
    ['/payweave.payments.v1.PaymentsService/GetPayment', '/payments.v1.PaymentsService/GetPayment'],
    ['.payweave.types.v1.Money', '.types.v1.Money'],
    ['payweave/types/v1/types.proto', 'types/v1/types.proto'],
    ['google.rpc.ErrorInfo', 'google.rpc.ErrorInfo'],
    ['/grpc.health.v1.Health/Check', '/grpc.health.v1.Health/Check'],
  ])('an old name of %s is %s', (name, old) => {
    expect(oldName(name)).toBe(old)
  })
})

describe('a caller of the previous release', () => {
  it('a caller of the previous release is answered over Connect, gRPC and a call stream', async () => {
    const { url, server, observed, lines } = await startNew()
    const byConnect = await fetch(`${url}${oldPath}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ eventIds }),
    })
    expect(byConnect.status).toBe(200)
    const known = eventIds.map((eventId) => ({ eventId, state: 'INBOX_STATE_SEEN' }))
    expect(await byConnect.json()).toEqual({ known })

    const transport = createGrpcTransport({ baseUrl: url })
    const byGrpc = createClient(oldService(InboxService), transport)
    const answer = await byGrpc.seen({ eventIds }, { headers: { authorization } })
    expect(answer.known).toHaveLength(2)

    const stream = await dialCallStream(server.port, {
      path: '/rpc.v1.CallService/StreamCalls',
      authorization,
    })
    closers.push(() => stream.close())
    const message = toBinary(SeenRequestSchema, create(SeenRequestSchema, { eventIds }))
    stream.send({ callId: 1, path: oldPath, authorization, timeoutMs: 5_000, message })
    const { notBegun, body } = await stream.next()
    expect(notBegun).toBe(false)
    expect(fromBinary(SeenResponseSchema, body).known).toHaveLength(2)

    // Records have one name for both.
    const rpc = 'payweave.events.v1.InboxService/Seen'
    expect(observed).toEqual([`${rpc} ok`, `${rpc} ok`, `${rpc} ok`])
    expect(lines.map((line) => line['rpc'])).toEqual([rpc, rpc, rpc])
  })

  it('a caller of the previous release needs the same permission', async () => {
    const { url, identityOf } = await startNew()
    const statusOf = async (credential: string) => {
      const headers = { authorization: credential, 'content-type': 'application/json' }
      return (await fetch(`${url}${oldPath}`, { method: 'POST', headers, body: '{}' })).status
    }
    expect(await statusOf('Bearer nobody')).toBe(401)
    expect(await statusOf(identityOf('gateway').authorization('delivery'))).toBe(403)
    expect(await statusOf(identityOf('payments').authorization('delivery'))).toBe(200)
  })

  it('a caller of the previous release finds the service in health, whose list has the new name', async () => {
    const { url } = await startNew()
    const health = createClient(Health, createGrpcTransport({ baseUrl: url }))
    expect((await health.check({ service: 'events.v1.InboxService' })).status).toBe(Status.SERVING)
    const watched = health.watch({ service: 'events.v1.InboxService' }, { timeoutMs: 5_000 })
    for await (const { status } of watched) {
      expect(status).toBe(Status.SERVING)
      break
    }
    const { statuses } = await health.list({})
    expect(Object.keys(statuses).toSorted()).toEqual(['', InboxService.typeName])
  })

  it('a caller of the previous release reads its contract by reflection, with the rules', async () => {
    const { url } = await startNew({
      routes: (router) => void router.service(InboxService, { seen: () => ({}) }),
    })
    const reflection = createClient(ServerReflection, createGrpcTransport({ baseUrl: url }))
    const value = 'events.v1.InboxService'
    const [found] = await all(
      reflection.serverReflectionInfo(
        (async function* () {
          yield { messageRequest: { case: 'fileContainingSymbol' as const, value } }
        })(),
        { headers: { authorization } },
      ),
    )
    const response = found?.messageResponse
    if (response?.case !== 'fileDescriptorResponse') throw new Error('no file')
    const file = response.value.fileDescriptorProto
      .map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
      .toReversed()
    expect(file.map(({ name }) => name).at(-1)).toBe('events/v1/events.proto')
    const service = createFileRegistry(create(FileDescriptorSetSchema, { file })).getService(value)
    const method = service?.method['seen'] as DescMethod
    expect(method.input.typeName).toBe('events.v1.SeenRequest')
    const [field] = method.input.fields
    expect(field && getOption(field, rulesOf).type.case).toBe('repeated')
  })

  it('a caller of the previous release whose bearer lists old methods may call them by both names', async () => {
    const dir = join(newSecrets({ rpcs: ['events.v1.InboxService/Seen'] }), 'delivery')
    const log = { warn: () => undefined }
    const { url } = await startNew({ identity: openIdentity({ name: 'delivery', dir, log }) })
    for (const path of [oldPath, '/payweave.events.v1.InboxService/Seen']) {
      const headers = { authorization, 'content-type': 'application/json' }
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: '{}' })
      expect(answer.status).toBe(200)
    }
  })
})

describe('a server of the previous release', () => {
  it('a server of the previous release answers our calls, single ones and streams', async () => {
    const url = await startOld((router) => {
      router.service(oldService(InboxService), {
        seen: (request) => ({ known: request.eventIds.map((eventId) => ({ eventId })) }),
      })
      router.service(oldService(DeliveryService), {
        async *tailDeliveries() {
          yield {}
        },
      })
    })
    const options = { url, audience: 'delivery', identity }
    const { known } = await createRpcClient(InboxService, options).seen({ eventIds })
    expect(known.map(({ eventId }) => eventId)).toEqual(eventIds)
    const tail = createRpcClient(DeliveryService, options).tailDeliveries({})
    expect(await all(tail)).toHaveLength(1)
  })

  it('a server of the previous release gets our call streams and the calls in them under its names', async () => {
    const server = await startCallStreamServer()
    closers.push(() => server.close())
    const client = createRpcClient(InboxService, {
      url: server.origin,
      audience: 'delivery',
      identity,
    })
    // The first calls take HTTP/1.1, until the stream is open.
    const call = await eventually(() => {
      void client.seen({ eventIds }).catch(() => undefined)
      return server.peers[0]?.calls[0] ?? false
    })
    expect(call.path).toBe(oldPath)
    expect(server.peers[0]?.path).toBe('/rpc.v1.CallService/StreamCalls')
  })
})
