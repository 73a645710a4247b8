// Tests with a gRPC client that is not ours (grpc-js): calls, refusals, health and reflection.

import {
  create,
  type DescMessage,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from '#gen/grpc/reflection/v1/reflection_pb.js'
import * as alpha from '#gen/grpc/reflection/v1alpha/reflection_pb.js'
import {
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListRequestSchema,
  HealthListResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from '#gen/health/v1/health_pb.js'
import {
  InboxService,
  SeenRequestSchema,
  SeenResponseSchema,
} from '#gen/payweave/events/v1/events_pb.js'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'

let started: Awaited<ReturnType<typeof startInbox>>
let client: Client
let ready = true

beforeAll(async () => {
  started = await startInbox(
    ({ eventIds }) => {
      if (eventIds.includes('refuse')) {
        throw new Failure('INVALID_PARAMETER', 'bad id – naïve', {
          details: { field: 'event_ids' },
        })
      }
      return { known: eventIds.map((eventId) => ({ eventId, state: 1 })) }
    },
    { ready: () => ready },
  )
  client = new Client(`127.0.0.1:${started.server.port}`, credentials.createInsecure())
})
afterAll(async () => {
  client.close()
  await started.server.close()
})

function encode<T extends DescMessage>(schema: T) {
  return (message: MessageShape<T>) => Buffer.from(toBinary(schema, message))
}

function decode<T extends DescMessage>(schema: T) {
  return (bytes: Buffer) => fromBinary(schema, bytes)
}

function authorized(authorization = `Bearer ${bearerCredential}`): Metadata {
  const metadata = new Metadata()
  metadata.set('authorization', authorization)
  return metadata
}

function unary<I extends DescMessage, O extends DescMessage>(
  path: string,
  input: I,
  output: O,
  message: MessageShape<I>,
  metadata = new Metadata(),
): Promise<MessageShape<O>> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      encode(input),
      decode(output),
      message,
      metadata,
      { deadline: Date.now() + 15_000 },
      (error, answer) => (answer === undefined ? reject(error) : resolve(answer)),
    )
  })
}

const seenPath = '/payweave.events.v1.InboxService/Seen'
const checkPath = '/grpc.health.v1.Health/Check'
const tooLong = 'x'.repeat(5 << 20)

function seen(eventIds: string[], metadata?: Metadata, path = seenPath) {
  const request = create(SeenRequestSchema, { eventIds })
  return unary(path, SeenRequestSchema, SeenResponseSchema, request, metadata)
}

async function refusalOf(call: Promise<unknown>): Promise<ServiceError> {
  return await call.then(
    () => {
      throw new Error('was answered')
    },
    (error: unknown) => error as ServiceError,
  )
}

describe('a gRPC call', () => {
  it('a gRPC call is answered for a known caller', async () => {
    const answer = await seen(['a', 'b'], authorized())
    expect(answer.known.map((known) => known.eventId)).toEqual(['a', 'b'])
    const token = started.identityOf('payments').authorization('delivery')
    expect((await seen(['c'], authorized(token))).known).toHaveLength(1)
  })

  it('a gRPC call is refused by status, message and details', async () => {
    const error = await refusalOf(seen(['refuse'], authorized()))
    expect(error.code).toBe(status.INVALID_ARGUMENT)
    expect(error.details).toBe('bad id – naïve')
    const details = String(error.metadata.get('grpc-status-details-bin')[0])
    for (const part of ['google.rpc.ErrorInfo', 'INVALID_PARAMETER', 'payweave', 'event_ids']) {
      expect(details).toContain(part)
    }
  })

  it('a gRPC call says the reason of each refusal in its details', async () => {
    const gateway = authorized(started.identityOf('gateway').authorization('delivery'))
    const garbage = (bytes: number[], path = seenPath) =>
      new Promise((resolve, reject) => {
        const asIs = (given: Buffer) => given
        const message = Buffer.from(bytes)
        client.makeUnaryRequest(path, asIs, asIs, message, authorized(), (error, answer) =>
          answer === undefined ? reject(error) : resolve(answer),
        )
      })
    const refusals: Array<[() => Promise<unknown>, status, string]> = [
      [() => seen([]), status.UNAUTHENTICATED, 'UNAUTHENTICATED'],
      [() => seen([], gateway), status.PERMISSION_DENIED, 'PERMISSION_DENIED'],
      [() => seen([], authorized(), '/no.A/B'), status.UNIMPLEMENTED, 'METHOD_UNIMPLEMENTED'],
      [() => seen([tooLong], authorized()), status.RESOURCE_EXHAUSTED, 'MESSAGE_TOO_LARGE'],
      [() => garbage([0xff]), status.INVALID_ARGUMENT, 'MALFORMED_REQUEST'],
      [() => garbage([0x0a, 2, 0xc3, 0x28]), status.INVALID_ARGUMENT, 'MALFORMED_REQUEST'],
      [() => garbage([0xff], checkPath), status.INVALID_ARGUMENT, 'MALFORMED_REQUEST'],
    ]
    for (const [call, code, reason] of refusals) {
      const error = await refusalOf(call())
      const details = String(error.metadata.get('grpc-status-details-bin')[0])
      expect([error.code, reason]).toEqual([code, reason])
      for (const part of ['google.rpc.ErrorInfo', reason, 'payweave']) {
        expect(details, reason).toContain(part)
      }
    }
  })

  it('a gRPC call needs a credential that is known and allowed, also for methods that do not exist', async () => {
    const gateway = authorized(started.identityOf('gateway').authorization('delivery'))
    expect((await refusalOf(seen([]))).code).toBe(status.UNAUTHENTICATED)
    expect((await refusalOf(seen([], authorized('Bearer no')))).code).toBe(status.UNAUTHENTICATED)
    expect((await refusalOf(seen([], gateway))).code).toBe(status.PERMISSION_DENIED)
    for (const path of ['/payweave.events.v1.InboxService/Nothing', '/no.Such/Method']) {
      expect((await refusalOf(seen([], undefined, path))).code).toBe(status.UNAUTHENTICATED)
      expect((await refusalOf(seen([], authorized(), path))).code).toBe(status.UNIMPLEMENTED)
    }
  })

  it('a gRPC call is refused when the message is over 4 MiB, and the connection lives on', async () => {
    const error = await refusalOf(seen(['x'.repeat(5 << 20)], authorized()))
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED)
    expect((await seen(['a'], authorized())).known).toHaveLength(1)
  })
})

describe('health', () => {
  const check = (service: string) =>
    unary(
      checkPath,
      HealthCheckRequestSchema,
      HealthCheckResponseSchema,
      create(HealthCheckRequestSchema, { service }),
    )

  it('health answers anybody, for the server, for each service, and for all', async () => {
    expect((await check('')).status).toBe(Status.SERVING)
    expect((await check(InboxService.typeName)).status).toBe(Status.SERVING)
    expect((await refusalOf(check('no.Such'))).code).toBe(status.NOT_FOUND)
    const { statuses } = await unary(
      '/grpc.health.v1.Health/List',
      HealthListRequestSchema,
      HealthListResponseSchema,
      create(HealthListRequestSchema),
    )
    expect(Object.keys(statuses).toSorted()).toEqual(['', InboxService.typeName])
  })

  it('health follows the readiness of the process, and notifies watchers', async () => {
    const watch = (service: string) =>
      client.makeServerStreamRequest(
        '/grpc.health.v1.Health/Watch',
        encode(HealthCheckRequestSchema),
        decode(HealthCheckResponseSchema),
        create(HealthCheckRequestSchema, { service }),
      )
    const known = watch('')
    const unknown = watch('no.Such')
    known.on('error', () => undefined)
    unknown.on('error', () => undefined)
    const next = (stream: typeof known) =>
      new Promise<Status>((resolve) => {
        stream.once('data', (answer: HealthCheckResponse) => resolve(answer.status))
      })
    expect(await Promise.all([next(known), next(unknown)])).toEqual([
      Status.SERVING,
      Status.SERVICE_UNKNOWN,
    ])
    const changed = next(known)
    ready = false
    expect(await changed).toBe(Status.NOT_SERVING)
    expect((await check('')).status).toBe(Status.NOT_SERVING)
    const back = next(known)
    ready = true
    expect(await back).toBe(Status.SERVING)
    known.cancel()
    unknown.cancel()
  })
})

describe.each([
  ['v1', ServerReflectionRequestSchema, ServerReflectionResponseSchema],
  ['v1alpha', alpha.ServerReflectionRequestSchema, alpha.ServerReflectionResponseSchema],
] as const)('reflection %s', (version, input, output) => {
  type Query = MessageShape<typeof input>['messageRequest']
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`

  function ask(queries: Query[], metadata = authorized()) {
    const stream = client.makeBidiStreamRequest(
      path,
      encode(input as DescMessage),
      decode(output as DescMessage),
      metadata,
    ) as ClientDuplexStream<unknown, MessageShape<typeof output>>
    return new Promise<Array<MessageShape<typeof output>>>((resolve, reject) => {
      const answers: Array<MessageShape<typeof output>> = []
      stream.on('data', (answer: MessageShape<typeof output>) => answers.push(answer))
      stream.on('error', reject)
      stream.on('end', () => resolve(answers))
      for (const messageRequest of queries) {
        stream.write(
          create(input as typeof ServerReflectionRequestSchema, { messageRequest } as never),
        )
      }
      stream.end()
    })
  }

  function filesOf(answer: MessageShape<typeof output> | undefined): string[] {
    const response = answer?.messageResponse
    if (response?.case !== 'fileDescriptorResponse') return []
    return response.value.fileDescriptorProto.map(
      (bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name,
    )
  }

  it(`reflection ${version} lists the services and gives their files with what they import`, async () => {
    const [list, service, method, message, byName] = await ask([
      { case: 'listServices', value: '' },
      { case: 'fileContainingSymbol', value: 'payweave.events.v1.InboxService' },
      { case: 'fileContainingSymbol', value: 'payweave.events.v1.InboxService.Seen' },
      { case: 'fileContainingSymbol', value: 'payweave.events.v1.SeenResponse.Known' },
      { case: 'fileByFilename', value: 'google/protobuf/timestamp.proto' },
    ])
    expect(list?.messageResponse.value).toMatchObject({
      service: [
        { name: 'grpc.health.v1.Health' },
        { name: 'grpc.reflection.v1.ServerReflection' },
        { name: 'grpc.reflection.v1alpha.ServerReflection' },
        { name: 'payweave.events.v1.InboxService' },
        { name: 'payweave.rpc.v1.CallService' },
      ],
    })
    // The rules of a contract are part of it.
    const eventFiles = [
      'payweave/events/v1/events.proto',
      'buf/validate/validate.proto',
      'google/protobuf/descriptor.proto',
      'google/protobuf/duration.proto',
      'google/protobuf/field_mask.proto',
      'google/protobuf/timestamp.proto',
    ]
    for (const answer of [service, method, message]) expect(filesOf(answer)).toEqual(eventFiles)
    expect(filesOf(byName)).toEqual(['google/protobuf/timestamp.proto'])
    expect(service?.originalRequest?.messageRequest.value).toBe('payweave.events.v1.InboxService')
  })

  it(`reflection ${version} says not found inside the stream, and continues`, async () => {
    const answers = await ask([
      { case: 'fileContainingSymbol', value: 'no.Such' },
      { case: 'fileByFilename', value: 'no.proto' },
      {
        case: 'fileContainingExtension',
        value: { containingType: 'payweave.events.v1.Event', extensionNumber: 1 } as never,
      },
      { case: 'allExtensionNumbersOfType', value: 'no.Such' },
      { case: 'allExtensionNumbersOfType', value: 'payweave.events.v1.Event' },
    ])
    expect(answers.map((answer) => answer.messageResponse.case)).toEqual([
      'errorResponse',
      'errorResponse',
      'errorResponse',
      'errorResponse',
      'allExtensionNumbersResponse',
    ])
    expect(answers[0]?.messageResponse.value).toMatchObject({ errorCode: status.NOT_FOUND })
  })

  it(`reflection ${version} requires a credential`, async () => {
    const error = await refusalOf(ask([{ case: 'listServices', value: '' }], new Metadata()))
    expect(error.code).toBe(status.UNAUTHENTICATED)
  })
})
