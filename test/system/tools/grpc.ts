// An internal team: the published client with the bearer of a sandbox. It must not use our own RPC client.
import { expect } from 'vitest'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { createPayweaveClient, PayweaveError } from '../../../clients/grpc/index.ts'
import type { SharedMesh } from '../../support/mesh.ts'

type Harness = Pick<SharedMesh, 'sandbox'>

/** The published client on a sandbox, with its bearer or another one; an empty one: none is sent. */
export function grpcClient({ sandbox }: Harness, token = sandbox.grpc_token) {
  return createPayweaveClient({ address: sandbox.grpc, ...(token !== '' && { token }) })
}

/** The refusal of a call that must be refused. */
export async function refusalOf(call: Promise<unknown>): Promise<PayweaveError> {
  const answer: unknown = await call.catch((error: unknown) => error)
  expect(answer).toBeInstanceOf(PayweaveError)
  return answer as PayweaveError
}

/** What internal teams do with the services of a sandbox, by its bearer. */
export function internalTeam(harness: Harness) {
  const client = grpcClient(harness)
  return {
    ...client,
    /** The id of the project that a subscription key opens. */
    async projectId(subscriptionKey: string): Promise<string> {
      const { project } = await client.access.authenticateSubscriptionKey({
        subscriptionKey,
        environment: Environment.SANDBOX,
      })
      return project?.projectId ?? ''
    },
    getPayment: async (projectId: string, paymentId: string) =>
      (await client.payments.getPayment({ projectId, paymentId })).payment,
    refund: async (projectId: string, paymentId: string) =>
      (await client.payments.refundPayment({ projectId, paymentId })).payment,
  }
}
