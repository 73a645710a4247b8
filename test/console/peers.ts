// The services that the console calls, with rows whose every text tries to be markup or a formula. Calls are kept with who made them.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { type AccessService, Environment } from '#gen/accounts/v1/access_pb.js'
import {
  AttemptOutcome,
  DeliveryKind,
  DeliverySchema,
  type DeliveryService,
  DeliveryState,
} from '#gen/delivery/v1/delivery_pb.js'
import { ReplayJobSchema, ReplayJobState, type ReplayService } from '#gen/delivery/v1/replay_pb.js'
import {
  PayerState,
  PaymentSchema,
  PaymentState,
  type PaymentsService,
} from '#gen/payments/v1/payments_pb.js'
import { currentContext } from '#platform/rpc/context.ts'

/** A text that is no harm as text, and all harm as anything else. */
export const evil = `=cmd|' /C calc'!A0"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`

/** One call that reached a service. */
export type SeenCall = { rpc: string; person: string | undefined; projectId: string | undefined }

export type Peers = ReturnType<typeof newPeers>

const time = timestampFromDate(new Date('2026-01-02T03:04:05Z'))

/** Services of two projects: `demo` has rows, and so has `other`. */
export function newPeers() {
  const projects = { demo: newProject('demo'), other: newProject('other') }
  const byId = new Map<string, Project>(Object.values(projects).map((one) => [one.projectId, one]))
  const calls: SeenCall[] = []
  const seen = (rpc: string) => {
    const caller = currentContext()?.caller
    calls.push({ rpc, person: caller?.person?.id, projectId: caller?.projectId })
  }
  const of = (projectId: string) => {
    const found = byId.get(projectId)
    if (found === undefined) throw new Failure('PROJECT_NOT_FOUND', 'no such project')
    return found
  }

  const access: Partial<ServiceImpl<typeof AccessService>> = {
    getProject: ({ projectId }) => ({ project: shown(of(projectId)) }),
    listProjects: () => ({ projects: Object.values(projects).map(shown) }),
  }
  const payments: Partial<ServiceImpl<typeof PaymentsService>> = {
    getPayment({ projectId, paymentId }) {
      seen('GetPayment')
      return { payment: paymentOf(of(projectId), paymentId) }
    },
    cancelPayment({ projectId, paymentId }) {
      seen('CancelPayment')
      return { payment: paymentOf(of(projectId), paymentId) }
    },
    refundPayment({ projectId, paymentId }) {
      seen('RefundPayment')
      return { payment: paymentOf(of(projectId), paymentId) }
    },
  }
  const deliveries: Partial<ServiceImpl<typeof DeliveryService>> = {
    listDeliveries({ projectId, pageToken, state }) {
      seen('ListDeliveries')
      const { delivery } = of(projectId)
      if (state !== DeliveryState.UNSPECIFIED && state !== delivery.state) return {}
      const isFirst = pageToken === ''
      return { deliveries: [delivery], nextPageToken: isFirst ? 'second' : '' }
    },
    getDelivery({ projectId, deliveryId }) {
      seen('GetDelivery')
      return { delivery: deliveryOf(of(projectId), deliveryId) }
    },
    replayDelivery({ projectId, deliveryId }) {
      seen('ReplayDelivery')
      return { delivery: deliveryOf(of(projectId), deliveryId) }
    },
    cancelDelivery({ projectId, deliveryId }) {
      seen('CancelDelivery')
      return { delivery: deliveryOf(of(projectId), deliveryId) }
    },
    async *tailDeliveries({ projectId }) {
      seen('TailDeliveries')
      const { delivery } = of(projectId)
      const { deliveryId, kind, origin, attempts } = delivery
      const [attempt] = attempts
      if (attempt === undefined) throw new Error('a push that was tried')
      yield { event: { case: 'heartbeat' as const, value: {} } }
      for (let number = 1; number <= tailed; number += 1) {
        const value = { deliveryId, projectId, kind, origin, attempt: { ...attempt, number } }
        yield { event: { case: 'change' as const, value } }
      }
      await new Promise((resolve) => currentContext()?.signal?.addEventListener('abort', resolve))
    },
  }
  const replays: Partial<ServiceImpl<typeof ReplayService>> = {
    createReplayJob({ projectId }) {
      seen('CreateReplayJob')
      return { job: of(projectId).job }
    },
    getReplayJob({ projectId, jobId }) {
      seen('GetReplayJob')
      const { job } = of(projectId)
      if (job.jobId !== jobId) throw new Failure('REPLAY_NOT_FOUND', 'no such job')
      return { job }
    },
    cancelReplayJob({ projectId }) {
      seen('CancelReplayJob')
      return { job: of(projectId).job }
    },
  }
  return { projects, calls, access, payments, deliveries, replays }
}

/** Attempts that a tail shows at once. */
const tailed = 1_000

type Project = ReturnType<typeof newProject>

function newProject(name: string) {
  const projectId = randomUUID()
  const payment = create(PaymentSchema, {
    paymentId: randomUUID(),
    projectId,
    merchantId: randomUUID(),
    transactionId: `${name}-${evil}`.slice(0, 64),
    amountMinor: 2_500n,
    currency: 'USD',
    description: evil,
    state: PaymentState.PAID,
    createTime: time,
    updateTime: time,
    expireTime: time,
    payers: [
      {
        mobileNumber: evil,
        firstName: evil,
        lastName: evil,
        amountMinor: 2_500n,
        state: PayerState.PAID,
      },
    ],
    payees: [{ mobileNumber: evil, amountMinor: 2_500n }],
  })
  const delivery = create(DeliverySchema, {
    deliveryId: randomUUID(),
    projectId,
    kind: DeliveryKind.NOTIFY,
    subjectId: payment.paymentId,
    origin: evil,
    state: DeliveryState.EXHAUSTED,
    attemptCount: 1,
    eventId: randomUUID(),
    occurredTime: time,
    attempts: [
      {
        number: 1,
        startTime: time,
        outcome: AttemptOutcome.CONNECTION_FAILED,
        error: evil,
        durationMs: 12,
        answer: new TextEncoder().encode(evil),
      },
    ],
  })
  const job = create(ReplayJobSchema, {
    jobId: randomUUID(),
    projectId,
    state: ReplayJobState.RUNNING,
    replayedCount: 7n,
    ratePerS: 50,
    createTime: time,
  })
  return { projectId, name: `${name} ${evil}`, payment, delivery, job }
}

function shown({ projectId, name }: Project) {
  return { projectId, name, environment: Environment.SANDBOX }
}

function paymentOf({ payment }: Project, paymentId: string) {
  if (payment.paymentId === paymentId) return payment
  throw new Failure('PAYMENT_NOT_FOUND', 'no such payment')
}

function deliveryOf({ delivery }: Project, deliveryId: string) {
  if (delivery.deliveryId === deliveryId) return delivery
  throw new Failure('DELIVERY_NOT_FOUND', 'no such delivery')
}
