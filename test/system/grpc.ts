// An internal team's gRPC client: grpc-js with the published messages. It must not use our own RPC client.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { type Any, AnySchema } from '@bufbuild/protobuf/wkt'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { expect } from 'vitest'
import { AccessService, Environment } from '#gen/accounts/v1/access_pb.js'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.js'
import { PaymentsService } from '#gen/payments/v1/payments_pb.js'
import type { SharedMesh } from '../support/mesh.ts'

/** A client of one service; no bearer: none is sent. */
export function grpcClient(url: string, bearer?: string) {
  const client = new Client(new URL(url).host, credentials.createInsecure())
  const metadata = new Metadata()
  if (bearer !== undefined) metadata.set('authorization', `Bearer ${bearer}`)
  return {
    client,
    metadata,
    /** One unary call. */
    call<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      message: MessageInitShape<I>,
    ): Promise<MessageShape<O>> {
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          `/${method.parent.typeName}/${method.name}`,
          encoder(method.input),
          decoder(method.output),
          create(method.input, message),
          metadata,
          { deadline: Date.now() + 10_000 },
          (error, answer) => (answer === undefined ? reject(error) : resolve(answer)),
        )
      })
    },
    close: () => client.close(),
  }
}

export function encoder<T extends DescMessage>(schema: T) {
  return (message: MessageShape<T>) => Buffer.from(toBinary(schema, message))
}

export function decoder<T extends DescMessage>(schema: T) {
  return (bytes: Buffer) => fromBinary(schema, bytes)
}

/** The refusal of a call that must be refused. */
export async function refusalOf(call: Promise<unknown>): Promise<ServiceError> {
  const answer: unknown = await call.catch((error: unknown) => error)
  expect(answer).toBeInstanceOf(Error)
  return answer as ServiceError
}

/** The google.rpc.ErrorInfo in the details of a refusal, which are a google.rpc.Status. */
export function errorInfoOf(error: ServiceError) {
  const [bytes] = error.metadata.get('grpc-status-details-bin')
  const reader = new BinaryReader(bytes as Buffer)
  const details: Any[] = []
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag()
    if (field === 3) details.push(fromBinary(AnySchema, reader.bytes()))
    else reader.skip(wireType)
  }
  const found = details.find(
    ({ typeUrl }) => typeUrl === 'type.googleapis.com/google.rpc.ErrorInfo',
  )
  if (found === undefined) throw new Error('no ErrorInfo')
  return fromBinary(ErrorInfoSchema, found.value)
}

/** What internal teams do with the services of a sandbox, by its bearer. */
export function internalTeam({ sandbox }: Pick<SharedMesh, 'sandbox'>) {
  const clientOf = (service: keyof typeof sandbox.grpc) =>
    grpcClient(sandbox.grpc[service], sandbox.grpc_token)
  const accounts = clientOf('accounts')
  const payments = clientOf('payments')
  return {
    accounts,
    payments,
    /** The id of the project that a subscription key opens. */
    async projectId(subscriptionKey: string): Promise<string> {
      const { project } = await accounts.call(AccessService.method.authenticateSubscriptionKey, {
        subscriptionKey,
        environment: Environment.SANDBOX,
      })
      return project?.projectId ?? ''
    },
    getPayment: async (projectId: string, paymentId: string) =>
      (await payments.call(PaymentsService.method.getPayment, { projectId, paymentId })).payment,
    refund: async (projectId: string, paymentId: string) =>
      (await payments.call(PaymentsService.method.refundPayment, { projectId, paymentId })).payment,
    close: () => {
      accounts.close()
      payments.close()
    },
  }
}
