// The services that the console calls, with rows whose every text tries to be markup or a formula. Calls are kept with who made them.
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { type AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import type { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import {
  AttemptOutcome,
  DeliveryKind,
  DeliverySchema,
  type DeliveryService,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { BreakerState, type EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import type { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import {
  ReplayJobSchema,
  ReplayJobState,
  type ReplayService,
} from '#gen/payweave/delivery/v1/replay_pb.js'
import {
  FraudCheckStatus,
  PayerState,
  PaymentChannel,
  PaymentEventType,
  PaymentMethod,
  PaymentSchema,
  PaymentState,
  type PaymentsService,
  PayoutState,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { currentContext } from '#platform/rpc/context.ts'
import { evilTexts, type Texts, time } from './rows.ts'
import { staffPeers } from './staff-peers.ts'

/** One call that reached a service. */
export type SeenCall = { rpc: string; person: string | undefined; projectId: string | undefined }

export type Peers = ReturnType<typeof newPeers>

/** A subject whose pushes fill as many pages as are read. */
export const endlessSubject = 'endless'

/** Services of two projects, whose every text is one of `texts`: `demo` has rows, and so has `other`. */
export function newPeers(texts: Texts = evilTexts) {
  const projects = { demo: newProject('demo', texts), other: newProject('other', texts) }
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

  const institutionId = randomUUID()
  /** What was changed of a project's access. */
  const changed = {
    granted: new Array<string>(),
    revoked: new Array<string>(),
    accountAccess: false,
    allowedIps: new Array<string>(),
  }

  /** Projects beyond the two, which know nothing. */
  const crowd: string[] = []
  let open = 0
  const most = { atOnce: 0 }

  const access: Partial<ServiceImpl<typeof AccessService>> = {
    getProject: ({ projectId }) => ({ project: shown(of(projectId)) }),
    listProjects: () => ({
      projects: [
        ...crowd.map((projectId) => ({ projectId, name: 'crowd' })),
        ...Object.values(projects).map(shown),
      ],
    }),
    listMerchants({ projectId }) {
      const { payment, merchantName } = of(projectId)
      const { merchantId } = payment
      return { merchants: [{ merchantId, projectId, businessName: merchantName }] }
    },
    listSubscriptionKeys({ projectId }) {
      const { keyId } = of(projectId)
      const old = { keyId: randomUUID(), issueTime: time, revokeTime: time }
      return { keys: [{ keyId, issueTime: time }, old] }
    },
    listApiKeys({ projectId }) {
      const { payment, keyId } = of(projectId)
      return { keys: [{ keyId, merchantId: payment.merchantId, issueTime: time }] }
    },
    listGrants({ projectId }) {
      const grant = {
        institutionId,
        institutionName: texts.name,
        endpoint: 'POST /institution/quote',
        grantTime: time,
      }
      return { grants: of(projectId) ? [grant] : [] }
    },
    listInstitutions() {
      seen('ListInstitutions')
      return { institutions: [{ institutionId, name: texts.name }] }
    },
    updateProjectAccess({ projectId, accountAccess, allowedIps }) {
      seen('UpdateProjectAccess')
      Object.assign(changed, { accountAccess, allowedIps })
      return { project: shown(of(projectId)) }
    },
    grantEndpoints({ projectId, endpoints }) {
      seen('GrantEndpoints')
      changed.granted.push(...endpoints)
      return of(projectId) && {}
    },
    revokeGrants({ projectId, endpoints }) {
      seen('RevokeGrants')
      changed.revoked.push(...endpoints)
      return of(projectId) && {}
    },
    issueSubscriptionKey({ projectId }) {
      seen('IssueSubscriptionKey')
      return { keyId: randomUUID(), subscriptionKey: `pwk_test_${of(projectId).secret}` }
    },
    issueApiKey({ projectId }) {
      seen('IssueApiKey')
      return { keyId: randomUUID(), apiKey: of(projectId).secret }
    },
    revokeSubscriptionKey({ keyId, projectId }) {
      seen('RevokeSubscriptionKey')
      if (keyId !== of(projectId).keyId) throw new Failure('KEY_NOT_FOUND', 'no such key')
      return {}
    },
    revokeApiKey({ keyId, projectId }) {
      seen('RevokeApiKey')
      if (keyId !== of(projectId).keyId) throw new Failure('KEY_NOT_FOUND', 'no such key')
      return {}
    },
    listAudit({ projectId }) {
      seen('ListAudit')
      const entry = {
        occurTime: time,
        caller: texts.person,
        action: 'issue_api_key',
        details: { note: texts.note },
      }
      return { entries: [{ ...entry, auditId: randomUUID(), projectId }] }
    },
  }
  const payments: Partial<ServiceImpl<typeof PaymentsService>> = {
    async getPayment({ projectId, paymentId }) {
      seen('GetPayment')
      open += 1
      most.atOnce = Math.max(most.atOnce, open)
      await setImmediate()
      open -= 1
      if (crowd.includes(projectId)) throw new Failure('PAYMENT_NOT_FOUND', 'no such payment')
      return { payment: paymentOf(of(projectId), paymentId) }
    },
    listPayments({ projectId, merchantId, pageToken, transactionId, state }) {
      seen('ListPayments')
      const { payment } = of(projectId)
      const isWanted =
        merchantId === payment.merchantId &&
        (transactionId === '' || transactionId === payment.transactionId) &&
        (state === PaymentState.UNSPECIFIED || state === payment.state)
      if (!isWanted) return {}
      const { $typeName: _, ...summary } = payment
      return { payments: [summary], nextPageToken: pageToken === '' ? 'second' : '' }
    },
    listPaymentEvents({ projectId, merchantId, paymentId }) {
      const { currency, merchantId: owner } = paymentOf(of(projectId), paymentId)
      if (merchantId !== owner) throw new Failure('PAYMENT_NOT_FOUND', 'no such payment')
      const events = [
        { type: PaymentEventType.PAYMENT_CREATED, amountMinor: 2_500n },
        {
          type: PaymentEventType.ATTEMPT_SUCCEEDED,
          amountMinor: 2_500n,
          party: { case: 'payerMobileNumber' as const, value: texts.number },
        },
        { type: PaymentEventType.PAYMENT_REFUNDED, amountMinor: 2_500n, reason: texts.note },
      ]
      return { events: events.map((event) => ({ ...event, time })), currency }
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
    listDeliveries({ projectId, pageToken, state, subjectId }) {
      seen('ListDeliveries')
      const { delivery } = of(projectId)
      if (subjectId === endlessSubject) {
        return { deliveries: Array.from({ length: 200 }, () => delivery), nextPageToken: 'more' }
      }
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
  const deadLetters: Partial<ServiceImpl<typeof DeadLetterService>> = {
    listDeadLetters({ state, pageToken }) {
      seen('ListDeadLetters')
      const { delivery } = projects.demo
      if (state !== DeliveryState.UNSPECIFIED && state !== delivery.state) return {}
      return { deliveries: [delivery], nextPageToken: pageToken === '' ? 'second' : '' }
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
  const merchantDeliveries: Partial<ServiceImpl<typeof MerchantDeliveryService>> = {
    listPaymentPushes: ({ projectId }) => ({ deliveries: [pushOf(of(projectId), texts)] }),
    getMerchantDelivery: ({ projectId }) => ({ delivery: pushOf(of(projectId), texts) }),
  }
  const endpoints: Partial<ServiceImpl<typeof EndpointService>> = {
    listEndpoints({ projectId }) {
      seen('ListEndpoints')
      const { kind, origin } = of(projectId).delivery
      const lane = { projectId, kind, origin, limitNow: 4, pendingCount: 10_000 }
      return { endpoints: [{ ...lane, breaker: BreakerState.OPEN, openUntilTime: time }] }
    },
  }
  const ofDelivery = { deliveries, deadLetters, merchantDeliveries, endpoints, replays }
  const handlers = { access, payments, ...ofDelivery }
  return {
    projects,
    institutionId,
    changed,
    calls,
    crowd,
    most,
    ...handlers,
    ...staffPeers(seen, texts),
  }
}

/** Attempts that a tail shows at once. */
const tailed = 1_000

function pushOf({ delivery }: Project, { url, body: text }: Texts) {
  const { deliveryId, eventId, kind, state, attemptCount, attempts } = delivery
  const shownOnce = { eventType: 'payment_completed', url, createTime: time }
  const body = new TextEncoder().encode(text)
  const subject = { deliveryId, eventId, paymentId: delivery.subjectId, kind, state, body }
  return { ...subject, ...shownOnce, attemptCount, attempts }
}

type Project = ReturnType<typeof newProject>

function newProject(name: string, texts: Texts) {
  const projectId = randomUUID()
  const payment = create(PaymentSchema, {
    paymentId: randomUUID(),
    projectId,
    merchantId: randomUUID(),
    transactionId: `${name}-${texts.id}`.slice(0, 64),
    amountMinor: 2_500n,
    currency: 'USD',
    description: texts.note,
    state: PaymentState.PAID,
    fraudCheckStatus: FraudCheckStatus.SKIPPED,
    createTime: time,
    updateTime: time,
    expireTime: time,
    payers: [
      {
        mobileNumber: texts.number,
        firstName: texts.name,
        lastName: texts.name,
        amountMinor: 2_500n,
        state: PayerState.PAID,
        paymentChannel: PaymentChannel.PAYMENT_LINK,
        paymentMethod: PaymentMethod.WALLET,
      },
    ],
    payees: [{ mobileNumber: texts.number, amountMinor: 2_500n, payoutState: PayoutState.SENT }],
  })
  const delivery = create(DeliverySchema, {
    deliveryId: randomUUID(),
    projectId,
    kind: DeliveryKind.NOTIFY,
    subjectId: payment.paymentId,
    origin: texts.url,
    state: DeliveryState.EXHAUSTED,
    attemptCount: 1,
    eventId: randomUUID(),
    occurredTime: time,
    attempts: [
      {
        number: 1,
        startTime: time,
        outcome: AttemptOutcome.CONNECTION_FAILED,
        error: texts.note,
        durationMs: 12,
        answer: new TextEncoder().encode(texts.body),
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
  const named = { name: `${name} ${texts.name}`, merchantName: texts.name, secret: randomUUID() }
  const keyId = randomUUID()
  return { projectId, ...named, keyId, payment, delivery, job }
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
