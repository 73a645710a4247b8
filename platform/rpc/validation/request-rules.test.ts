// Shows that a message which breaks a rule of its contract is refused before its handler, over every protocol.

import { randomUUID } from 'node:crypto'
import {
  clone,
  create,
  createFileRegistry,
  type DescService,
  type MessageInitShape,
  setExtension,
} from '@bufbuild/protobuf'
import {
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  timestampNow,
} from '@bufbuild/protobuf/wkt'
import {
  FieldRulesSchema,
  field as rulesOf,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import {
  type Client,
  Code,
  ConnectError,
  type ConnectRouter,
  createClient,
  type Interceptor,
} from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { BadRequestSchema, ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.js'
import {
  AccountsService,
  CreatePersonalAccountRequestSchema,
  type PersonalAccountProfile,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { BeginMovementRequestSchema } from '#gen/payweave/accounts/v1/movement_pb.js'
import { AnnounceChargesRequestSchema } from '#gen/payweave/backend/v1/charges_pb.js'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import { startProxy, untilStreamed } from '../../testing/rpc/tcp-proxy.ts'
import { createRpcClient, createRpcPool } from '../client/client.ts'
import { badTimeFinder } from './request-times.ts'

const closers: Array<() => unknown> = []
const calls: string[] = []
let url: string
let identityOf: Awaited<ReturnType<typeof startInbox>>['identityOf']

beforeAll(async () => {
  const called = (name: string) => () => {
    calls.push(name)
    return {}
  }
  const started = await startInbox(() => ({}), {
    routes: (router) =>
      router
        .service(InboxService, { seen: called('seen') })
        .service(InstitutionService, { listTransactions: called('list') })
        .service(AccountsService, {
          createPersonalAccount: called('personal'),
          async uploadPersonalAccount(parts) {
            for await (const { part } of parts) calls.push(String(part.case))
            return {}
          },
        }),
  })
  closers.push(() => started.server.close())
  ;({ url, identityOf } = started)
})
afterAll(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})
beforeEach(() => void calls.splice(0))

/** What a refusal says. */
type Refusal = {
  code: string
  message: string
  reason: string | undefined
  fields: string[]
  descriptions: string[]
  reasons: string[]
}

async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  const thrown: unknown = await call.then(
    () => new Error('was answered'),
    (error: unknown) => error,
  )
  const error = thrown instanceof Failure ? thrown.cause : thrown
  if (!(error instanceof ConnectError)) throw error
  const [bad] = error.findDetails(BadRequestSchema)
  const violations = bad?.fieldViolations ?? []
  return {
    code: Code[error.code],
    message: error.rawMessage,
    reason: error.findDetails(ErrorInfoSchema)[0]?.reason,
    fields: violations.map(({ field }) => field),
    descriptions: violations.map(({ description }) => description),
    reasons: violations.map(({ reason }) => reason),
  }
}

/** A client of ours, as the process of that name. */
function ownClient<S extends DescService>(service: S, name = 'gateway', to = url): Client<S> {
  const pool = createRpcPool(to)
  closers.push(() => pool.close())
  const identity = identityOf(name)
  return createRpcClient(service, { url: to, audience: 'delivery', identity, pool })
}

const bearer: Interceptor = (next) => (request) => {
  request.header.set('authorization', `Bearer ${bearerCredential}`)
  return next(request)
}

async function streamedClient(): Promise<Client<typeof InboxService>> {
  const proxy = await startProxy(url)
  closers.push(() => proxy.close())
  const client = ownClient(InboxService, 'payments', proxy.url)
  await untilStreamed(proxy, () => client.seen({}))
  calls.splice(0)
  return client
}

describe('a call that breaks a rule', () => {
  const stock = () => ({ baseUrl: url, interceptors: [bearer] })
  const ways: [string, () => Client<typeof InboxService> | Promise<Client<typeof InboxService>>][] =
    [
      // No call stream is there before the first call.
      ['our client over HTTP', () => ownClient(InboxService, 'payments')],
      ['our client over a call stream', streamedClient],
      [
        'Connect in JSON',
        () =>
          createClient(InboxService, createConnectTransport({ ...stock(), httpVersion: '1.1' })),
      ],
      ['gRPC', () => createClient(InboxService, createGrpcTransport(stock()))],
    ]

  it.each(ways)(
    'a call that breaks a rule is refused with the name of the field over %s',
    async (_, open) => {
      const client = await open()
      const good = randomUUID()
      expect(await refusalOf(client.seen({ eventIds: [good, 'demo'] }))).toEqual({
        code: 'InvalidArgument',
        message: 'event_ids[1] must be a valid UUID',
        reason: 'INVALID_PARAMETER',
        fields: ['event_ids[1]'],
        descriptions: ['event_ids[1] must be a valid UUID'],
        reasons: ['INVALID_PARAMETER'],
      })
      expect(calls).toEqual([])
      await client.seen({ eventIds: [good] })
      expect(calls).toEqual(['seen'])
    },
  )
})

type Parts = MessageInitShape<(typeof AccountsService.method.uploadPersonalAccount)['input']>[]

describe('a stream of messages', () => {
  async function upload(parts: Parts) {
    const messages = (async function* () {
      yield* parts
    })()
    return ownClient(AccountsService).uploadPersonalAccount(messages)
  }
  const header = { part: { case: 'header', value: { projectId: randomUUID() } } } as const

  it('a stream of messages ends at the first bad one; the handler sees those before it', async () => {
    const artefact = { part: { case: 'artefact', value: { field: 'passport' } } } as const
    expect((await refusalOf(upload([header, artefact]))).fields).toEqual(['artefact.field'])
    expect(calls).toEqual(['header'])
  })

  it('a stream of messages is refused for a message without its part', async () => {
    const refused = await refusalOf(upload([header, {}]))
    expect([refused.reason, refused.fields]).toEqual(['MISSING_PARAMETER', ['part']])
  })
})

describe('a refusal', () => {
  const profile = (more: Profile): Init => ({
    profile: {
      firstName: 'Ama',
      lastName: 'Mensah',
      email: 'ama@example.com',
      mobileNumber: '+12025550100',
      institutionName: 'Demo Wallet',
      ...more,
    },
  })
  type Init = MessageInitShape<typeof CreatePersonalAccountRequestSchema>
  type Profile = Partial<Omit<PersonalAccountProfile, '$typeName' | '$unknown'>>
  const ask = (message: Init) =>
    refusalOf(ownClient(AccountsService).createPersonalAccount(message))

  it('a refusal lists all fields that break a rule, each with its reason', async () => {
    const bad = { firstName: '', email: 'nobody', authorisationToken: 'short' }
    const { message, reason, fields, reasons } = await ask(profile(bad))
    expect(message).toBe('profile.first_name is required')
    expect(reason).toBe('MISSING_PARAMETER')
    expect(fields).toEqual(['profile.first_name', 'profile.email', 'profile.authorisation_token'])
    expect(reasons).toEqual(['MISSING_PARAMETER', 'INVALID_PARAMETER', 'INVALID_PARAMETER'])
  })

  it('a refusal shows no value of the request', async () => {
    const secret = 'secret\u0000secret'
    const bad = {
      firstName: secret,
      email: secret,
      authorisationToken: secret,
      callbackUrl: secret,
    }
    const refused = await ask(profile({ ...bad, details: { city: secret } }))
    expect(refused.fields).toHaveLength(5)
    expect(JSON.stringify(refused)).not.toContain('secret')
  })

  it('a refusal names the entry of a map by an ordinary key alone', async () => {
    const named = await ask(profile({ details: { city: 'a\u0007' } }))
    expect(named.fields).toEqual(['profile.details["city"]'])
    const hidden = await ask(profile({ details: { 'My "PIN" is 1234': 'x' } }))
    expect(hidden.fields).toEqual(['profile.details'])
    expect(hidden.message).toBe(
      'profile.details has a key that must be 1 to 64 lower-case letters, digits and underscores',
    )
  })

  it('a refusal says in words what a pattern wants', async () => {
    const { message } = await ask(profile({ mobileNumber: '202' }))
    expect(message).toBe('profile.mobile_number must be a number in E.164 with plus sign')
  })

  it('a refusal of many bad items names twenty, and that of a huge message names the first bad field', async () => {
    const inbox = ownClient(InboxService, 'payments')
    const some = await refusalOf(inbox.seen({ eventIds: Array(100).fill('x') }))
    expect(some.fields).toHaveLength(20)
    const many = await refusalOf(inbox.seen({ eventIds: Array(1_500_000).fill('') }))
    expect(many.fields).toEqual(['event_ids'])
  })
})

describe('a time', () => {
  const list = (seconds: bigint, nanos = 0) =>
    ownClient(InstitutionService).listTransactions({
      projectId: randomUUID(),
      mobileNumber: '+12025550100',
      startTime: { seconds, nanos },
    })
  const [first, last] = [-62_135_596_800n, 253_402_300_799n]

  it.each([
    [first - 1n, 0],
    [last + 1n, 0],
    [-(2n ** 63n), 0],
    [2n ** 63n - 1n, 0],
    [0n, -1],
    [0n, 1_000_000_000],
    [last, 999_999_999],
  ])('a timestamp of %d s and %d ns is refused', async (seconds, nanos) => {
    const { message, fields } = await refusalOf(list(seconds, nanos))
    expect(message).toBe('start_time must be a time of the years 1 to 9999')
    expect(fields).toEqual(['start_time'])
    expect(calls).toEqual([])
  })

  it.each([
    [first, 0],
    [0n, 0],
    [last, 999_000_000],
  ])('a timestamp of %d s and %d ns is accepted', async (seconds, nanos) => {
    await list(seconds, nanos)
    expect(calls).toEqual(['list'])
  })

  it('a bad timestamp is found wherever it is in a message', () => {
    const expireTime = { seconds: 0n, nanos: -1 }
    const begin = create(BeginMovementRequestSchema, { hold: { expireTime } })
    expect(badTimeFinder(BeginMovementRequestSchema)?.(begin)).toBe('hold.expire_time')
    const charges = [{ expireTime: timestampNow() }, {}, { expireTime }]
    const announce = create(AnnounceChargesRequestSchema, { charges })
    expect(badTimeFinder(AnnounceChargesRequestSchema)?.(announce)).toBe('charges[2].expire_time')
    expect(badTimeFinder(CreatePersonalAccountRequestSchema)).toBeUndefined()
  })
})

it('a rule that does not fit its field ends the process at its start', async () => {
  const file = clone(FileDescriptorProtoSchema, InboxService.file.proto)
  const field = file.messageType
    .find(({ name }) => name === 'SeenRequest')
    ?.field.find(({ name }) => name === 'event_ids')
  if (field === undefined) throw new Error('the contract has changed')
  field.options = create(FieldOptionsSchema)
  const rules = create(FieldRulesSchema, { type: { case: 'bool', value: { const: true } } })
  setExtension(field.options, rulesOf, rules)
  const others = InboxService.file.dependencies.flatMap((one) => [...one.dependencies, one])
  const files = [...new Set(others.map(({ proto }) => proto)), file]
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: files }))
  const service = registry.getService(InboxService.typeName) as typeof InboxService
  const routes = (router: ConnectRouter) => router.service(service, { seen: () => ({}) })
  await expect(startInbox(() => ({}), { routes })).rejects.toThrow('event_ids')
})
