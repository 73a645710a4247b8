// What internal teams see through gRPC: calls with the published client, reflection with a stock one.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { ChannelCredentials, Client, Metadata, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '#gen/grpc/reflection/v1/reflection_pb.js'
import { Health, HealthCheckResponse_ServingStatus as Serving } from '#gen/health/v1/health_pb.js'
import {
  FraudCheckStatus,
  PayerState,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { createPayweaveClient } from '../../../clients/grpc/index.ts'
import { eventually } from '../../support/eventually.ts'
import { merchant, order, payer, person, receiver, sharedMesh, unique } from '../harness.ts'
import { grpcClient, internalTeam, refusalOf } from './grpc.ts'

const mesh = sharedMesh()
const { grpc, grpc_token: bearer, projects } = mesh.sandbox
const shop = merchant(mesh)
const team = internalTeam(mesh)
let projectId: string

beforeAll(async () => {
  projectId = await team.projectId(projects.demo.subscription_key)
})
afterAll(() => team.close())

/** The services that a port names by reflection. */
function listServices(url: string, version: 'v1' | 'v1alpha', credential?: string) {
  const client = new Client(new URL(url).host, ChannelCredentials.createInsecure())
  const metadata = new Metadata()
  if (credential !== undefined) metadata.set('authorization', `Bearer ${credential}`)
  const stream = client.makeBidiStreamRequest(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    (message: ServerReflectionRequest) =>
      Buffer.from(toBinary(ServerReflectionRequestSchema, message)),
    (bytes: Buffer) => fromBinary(ServerReflectionResponseSchema, bytes),
    metadata,
  )
  const answered = new Promise<string[]>((resolve, reject) => {
    stream.on('error', reject)
    stream.on('data', ({ messageResponse }: ServerReflectionResponse) => {
      resolve(
        messageResponse.case === 'listServicesResponse'
          ? messageResponse.value.service.map(({ name }) => name)
          : [],
      )
    })
  })
  const messageRequest: ServerReflectionRequest['messageRequest'] = {
    case: 'listServices',
    value: '',
  }
  stream.write(create(ServerReflectionRequestSchema, { messageRequest }))
  stream.end()
  return answered.finally(() => client.close())
}

describe('an internal team with the bearer of sandbox.json', () => {
  it.each(['v1', 'v1alpha'] as const)(
    'an internal team with the bearer of sandbox.json lists the services by reflection %s',
    async (version) => {
      const services = await listServices(grpc.payments, version, bearer)
      expect(services).toEqual(
        expect.arrayContaining([
          'payweave.payments.v1.PaymentsService',
          'grpc.health.v1.Health',
          'grpc.reflection.v1.ServerReflection',
          'grpc.reflection.v1alpha.ServerReflection',
        ]),
      )
    },
  )

  it('an internal team with the bearer of sandbox.json finds reflection and health on every service', async () => {
    for (const url of Object.values(grpc)) {
      expect(await listServices(url, 'v1', bearer)).toContain('grpc.health.v1.Health')
      const anybody = createPayweaveClient({ address: url })
      const health = anybody.service('payments', Health)
      await eventually(
        () => health.check({}),
        ({ status: serving }) => expect(serving).toBe(Serving.SERVING),
      )
      anybody.close()
    }
  })

  it('an internal team with the bearer of sandbox.json reads a payment', async () => {
    const inbox = receiver(mesh)
    const transaction = order({
      description: 'By gRPC',
      payers: [payer(1, { first_name: 'Kofi' })],
      urls: inbox.urls,
    })
    const created = await shop.create(transaction)
    await shop.stateIs(created.id, 'paid')
    const payment = await team.getPayment(projectId, created.id)
    expect(payment).toMatchObject({
      paymentId: created.id,
      projectId,
      transactionId: transaction.id,
      amountMinor: 10_000n,
      currency: 'TTD',
      state: PaymentState.PAID,
      fraudCheckStatus: FraudCheckStatus.SKIPPED,
      fees: { totalMinor: 50n, merchantPaysMinor: 50n },
      urls: inbox.urls,
      payers: [
        {
          mobileNumber: person(1),
          mobileNumberE164: person(1),
          firstName: 'Kofi',
          amountMinor: 10_000n,
          paymentChannel: PaymentChannel.PAYMENT_LINK,
          paymentMethod: PaymentMethod.WALLET,
          state: PayerState.PAID,
        },
      ],
    })
  })

  it('an internal team with the bearer of sandbox.json makes a payment that its payer pays, once for equal calls', async () => {
    const payment = await team.getPayment(projectId, (await shop.create(order())).id)
    const message = {
      projectId,
      merchantId: payment?.merchantId ?? '',
      transactionId: unique('grpc'),
      amountMinor: 500n,
      currency: 'USD',
      payers: [
        {
          mobileNumberE164: person(1),
          paymentChannel: PaymentChannel.PAYMENT_LINK,
          paymentMethod: PaymentMethod.WALLET,
        },
      ],
    }
    const first = await team.payments.createPayment(message)
    const again = await team.payments.createPayment(message)
    expect(first.replayed).toBe(false)
    expect(again.replayed).toBe(true)
    expect(again.payment?.paymentId).toBe(first.payment?.paymentId)
    const other = team.payments.createPayment({ ...message, amountMinor: 501n })
    const refusal = await refusalOf(other)
    expect(refusal).toMatchObject({
      status: 'ALREADY_EXISTS',
      reason: 'DUPLICATE_TRANSACTION_ID',
    })
    const seen = await shop.stateIs(first.payment?.paymentId ?? '', 'paid')
    expect(seen.body).toMatchObject({ payment_details: { amount: '5.00', currency: 'USD' } })
  })

  it('a caller receives the reason of a refusal in google.rpc.ErrorInfo', async () => {
    const unknown = await refusalOf(team.getPayment(projectId, crypto.randomUUID()))
    expect(unknown).toMatchObject({
      status: 'NOT_FOUND',
      reason: 'PAYMENT_NOT_FOUND',
      domain: 'payweave',
    })
    const pending = (await shop.create(order())).id
    const unpaid = await refusalOf(team.refund(projectId, pending))
    expect(unpaid).toMatchObject({ status: 'FAILED_PRECONDITION', domain: 'payweave' })
    const malformed = await refusalOf(team.payments.createPayment({ projectId: 'no' }))
    expect(malformed.status).toBe('INVALID_ARGUMENT')
    expect(malformed.reason).toMatch(/^(INVALID|MISSING)_PARAMETER$/)
  })
})

describe('a caller without the bearer', () => {
  const credentials = [undefined, '', 'x'.repeat(43), `${bearer}x`, bearer.slice(1)]

  it.each(['payments', 'accounts', 'institution', 'quotes', 'billing', 'delivery'] as const)(
    'a caller without the bearer is refused by %s',
    async (service) => {
      for (const credential of credentials) {
        const refusal = await listServices(grpc[service], 'v1', credential).catch((error) => error)
        expect(refusal).toMatchObject({ code: status.UNAUTHENTICATED })
      }
    },
  )

  it('a caller without the bearer cannot read, or find out what exists', async () => {
    const { id } = await shop.create(order())
    const stranger = grpcClient(mesh, '')
    for (const paymentId of [id, crypto.randomUUID()]) {
      const refusal = await refusalOf(stranger.payments.getPayment({ projectId, paymentId }))
      expect(refusal.status).toBe('UNAUTHENTICATED')
    }
    stranger.close()
    const elsewhere = grpcClient(mesh, projects.demo.subscription_key)
    const asked = elsewhere.access.getMerchant({ projectId })
    expect((await refusalOf(asked)).status).toBe('UNAUTHENTICATED')
    elsewhere.close()
  })
})
