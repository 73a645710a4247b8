// The actions of pages with things of the peers: what each shows, and the RPC that it ends in.
import { randomUUID } from 'node:crypto'
import { fingerprint } from '#core/identity/digest.ts'
import { DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { ReplayJobState } from '#gen/payweave/delivery/v1/replay_pb.js'
import { PaymentState } from '#gen/payweave/payments/v1/payments_pb.js'
import type { Peers } from '../peers.ts'

/** One action of a page. */
export type Action = {
  page: string
  /** What the page itself calls; absent: what all may. */
  needs?: string
  post: string
  rpc: string
  fields?: Record<string, string>
  /** The status of a success; 303 unless it is given. */
  answers?: number
  /** Whether it claims an item first, which is for those who may open the page. */
  claims?: boolean
  /** Whether the call is for no single project. */
  isForAll?: boolean
  /** The state in which the page offers it, where that is not the usual one of its thing. */
  when?: { thing: { state: number }; state: number }
}

const ofRouting = {
  page: '/routing',
  needs: 'payweave.payments.v1.RoutingService/ListRoutes',
  isForAll: true,
}
const ofCatalogue = {
  page: '/catalogue',
  needs: 'payweave.billing.v1.CatalogueService/ListCatalogue',
  isForAll: true,
}

/** What has a back end asked again. */
function asksOfStuck(id: string): Pick<Action, 'post' | 'rpc' | 'fields'>[] {
  return [
    {
      post: 'tasks',
      rpc: 'payweave.accounts.v1.BackendTaskService/RetryBackendTask',
      fields: { subject_id: id, kind: 'request_consent' },
    },
    {
      post: 'attempts',
      rpc: 'payweave.payments.v1.PaymentOperationsService/EnquireAttempt',
      fields: { attempt_id: 'attempt-1' },
    },
    {
      post: 'refunds',
      rpc: 'payweave.payments.v1.PaymentOperationsService/RepeatRefund',
      fields: { refund_id: id },
    },
    {
      post: 'transfers',
      rpc: 'payweave.institution.v1.InstitutionService/ResumeTransaction',
      fields: { movement_id: id },
    },
  ]
}

/** Actions of pages: where, what the page shows for them, and the RPC that they end in. */
export function actionsOf(peers: Peers): Action[] {
  const { projectId, keyId, payment, delivery, job } = peers.projects.demo
  const { staff, institutionId, events } = peers
  const base = `/projects/${projectId}`
  const requestId = randomUUID()
  return [
    {
      page: `${base}/payments/${payment.paymentId}`,
      post: 'refund',
      rpc: 'payweave.payments.v1.PaymentsService/RefundPayment',
    },
    {
      page: `${base}/payments/${payment.paymentId}`,
      post: 'cancel',
      rpc: 'payweave.payments.v1.PaymentsService/CancelPayment',
      when: { thing: payment, state: PaymentState.PENDING },
    },
    {
      page: `${base}/pushes/${delivery.deliveryId}`,
      post: 'cancel',
      rpc: 'payweave.delivery.v1.DeliveryService/CancelDelivery',
      when: { thing: delivery, state: DeliveryState.PENDING },
    },
    {
      page: `${base}/pushes/replays/${job.jobId}`,
      post: 'resume',
      rpc: 'payweave.delivery.v1.ReplayService/ResumeReplayJob',
      when: { thing: job, state: ReplayJobState.PAUSED },
    },
    {
      page: `${base}/pushes/${delivery.deliveryId}`,
      post: 'resend',
      rpc: 'payweave.delivery.v1.DeliveryService/ReplayDelivery',
      fields: { request_id: requestId },
    },
    {
      page: `${base}/pushes`,
      post: 'replays',
      rpc: 'payweave.delivery.v1.ReplayService/CreateReplayJob',
      fields: { request_id: requestId },
    },
    {
      page: `${base}/pushes/replays/${job.jobId}`,
      post: 'cancel',
      rpc: 'payweave.delivery.v1.ReplayService/CancelReplayJob',
    },
    {
      page: `${base}/pushes/replays/${job.jobId}`,
      post: 'pause',
      rpc: 'payweave.delivery.v1.ReplayService/PauseReplayJob',
    },
    ...[
      { post: 'subscription-keys', rpc: 'payweave.accounts.v1.AccessService/IssueSubscriptionKey' },
      { post: 'api-keys', rpc: 'payweave.accounts.v1.AccessService/IssueApiKey' },
    ].map((action) => ({
      ...action,
      page: `${base}/developers`,
      needs: 'payweave.accounts.v1.AccessService/ListApiKeys',
      fields: { request_id: requestId, merchant_id: payment.merchantId },
      answers: 200,
    })),
    ...[
      {
        post: 'subscription-keys/rotate',
        rpc: 'payweave.accounts.v1.AccessService/IssueSubscriptionKey',
      },
      { post: 'api-keys/rotate', rpc: 'payweave.accounts.v1.AccessService/IssueApiKey' },
    ].map((action) => ({
      ...action,
      page: `${base}/developers`,
      needs: 'payweave.accounts.v1.AccessService/ListApiKeys',
      fields: { request_id: requestId, key_id: keyId },
      answers: 200,
    })),
    ...[
      {
        post: 'subscription-keys/revoke',
        rpc: 'payweave.accounts.v1.AccessService/RevokeSubscriptionKey',
      },
      { post: 'api-keys/revoke', rpc: 'payweave.accounts.v1.AccessService/RevokeApiKey' },
    ].map((action) => ({
      ...action,
      page: `${base}/developers`,
      needs: 'payweave.accounts.v1.AccessService/ListApiKeys',
      fields: { key_id: keyId, confirmed: 'on' },
    })),
    {
      page: `${base}/developers`,
      needs: 'payweave.accounts.v1.AccessService/ListApiKeys',
      post: 'signing-secrets/rotate',
      rpc: 'payweave.accounts.v1.AccessService/RotateInstitutionKey',
      fields: { institution_id: institutionId, request_id: requestId, confirmed: 'on' },
      answers: 200,
      isForAll: true,
    },
    ...[
      { post: 'update', rpc: 'payweave.accounts.v1.AccessService/UpdateProjectAccess' },
      { post: 'grants', rpc: 'payweave.accounts.v1.AccessService/GrantEndpoints' },
    ].map((action) => ({
      ...action,
      page: `${base}/access`,
      needs: 'payweave.accounts.v1.AccessService/ListInstitutions',
      fields: {
        institution_id: institutionId,
        'GET /institution/post': 'on',
        shown: '',
        account_access: 'on',
        shown_access: '',
        shown_addresses: fingerprint([]).toString('hex'),
      },
    })),
    {
      page: `${base}/branding`,
      post: 'update',
      rpc: 'payweave.accounts.v1.AccessService/UpdateMerchant',
      fields: { merchant_id: payment.merchantId, color: '#0b57d0' },
    },
    {
      page: '/inbox',
      needs: 'payweave.billing.v1.CatalogueService/ListReviews',
      post: 'bills',
      rpc: 'payweave.billing.v1.CatalogueService/ResolveReview',
      fields: {
        project_id: staff.projectId,
        transaction_id: 'bill-1',
        item_id: staff.projectId,
        decision: 'paid',
        note: 'their statement',
      },
      isForAll: true,
    },
    ...[
      { post: 'check', rpc: 'payweave.accounts.v1.LedgerService/CheckLedger', answers: 200 },
      { post: 'backfill', rpc: 'payweave.accounts.v1.SettlementPostingService/RestartBackfill' },
    ].map((action) => ({
      ...action,
      page: '/ledger',
      needs: 'payweave.accounts.v1.SettlementPostingService/GetBackfill',
      isForAll: true,
    })),
    {
      page: '/inbox',
      needs: 'payweave.billing.v1.CatalogueService/ListReviews',
      post: 'refunds',
      rpc: 'payweave.payments.v1.PaymentOperationsService/SettleRefund',
      fields: { refund_id: requestId, note: 'by bank transfer' },
      isForAll: true,
    },
    {
      page: '/inbox',
      needs: 'payweave.billing.v1.CatalogueService/ListReviews',
      post: 'suspense',
      rpc: 'payweave.accounts.v1.SettlementPostingService/PostPaymentSettlements',
      fields: { payment_id: requestId, item_id: requestId },
      isForAll: true,
    },
    ...['accept', 'reject'].map((post) => ({
      page: `/inbox/onboardings/${staff.reviewId}`,
      needs: 'payweave.accounts.v1.OnboardingService/GetOnboarding',
      post,
      rpc: 'payweave.accounts.v1.OnboardingService/DecideOnboarding',
      fields: { level: '1', funds_access: 'full', reason: 'their passport' },
      isForAll: true,
    })),
    {
      page: '/dead-letters',
      claims: true,
      needs: 'payweave.delivery.v1.DeadLetterService/ListDeadLetters',
      post: 'resend',
      rpc: 'payweave.delivery.v1.DeliveryService/ReplayDelivery',
      fields: {
        project_id: projectId,
        delivery_id: delivery.deliveryId,
        request_id: requestId,
      },
    },
    ...[
      { post: 'retry', rpc: 'payweave.events.v1.EventDeadLetterService/RetryEventDeadLetter' },
      { post: 'discard', rpc: 'payweave.events.v1.EventDeadLetterService/DiscardEventDeadLetter' },
    ].map((action) => ({
      ...action,
      page: '/dead-letters/events',
      needs: 'payweave.events.v1.EventDeadLetterService/ListEventDeadLetters',
      fields: {
        service: 'delivery',
        dead_letter_id: events.deadLetterId,
        note: 'posted by hand',
      },
      isForAll: true,
    })),
    {
      page: '/receivers',
      needs: 'payweave.delivery.v1.EndpointService/ListAllEndpoints',
      post: 'replays',
      rpc: 'payweave.delivery.v1.ReplayService/CreateReplayJob',
      fields: { project_id: projectId, kind: 'notify', request_id: requestId, rate: '5' },
    },
    ...['pauses', 'resumes'].flatMap((post) => {
      const rpc = post === 'pauses' ? 'PauseEndpoint' : 'ResumeEndpoint'
      const action = {
        post,
        rpc: `payweave.delivery.v1.EndpointService/${rpc}`,
        fields: { project_id: projectId, lane_id: requestId },
      }
      const needs = 'payweave.delivery.v1.EndpointService/ListAllEndpoints'
      return [
        { ...action, page: `${base}/receivers` },
        { ...action, page: '/receivers', needs },
      ]
    }),
    {
      page: '/stuck',
      needs: 'payweave.payments.v1.PaymentOperationsService/ListFailingCalls',
      post: 'calls',
      rpc: 'payweave.payments.v1.PaymentOperationsService/RetryCall',
      fields: { subject_id: requestId, kind: 'payout' },
      isForAll: true,
    },
    ...asksOfStuck(requestId).map((action) => ({
      ...action,
      page: '/stuck',
      needs: 'payweave.payments.v1.PaymentOperationsService/ListFailingCalls',
      isForAll: true,
    })),
    {
      page: '/ledger',
      needs: 'payweave.accounts.v1.SettlementPostingService/GetBackfill',
      post: 'settlements/retry',
      rpc: 'payweave.accounts.v1.SettlementPostingService/RetrySettlement',
      fields: { settlement_id: staff.postableId },
      isForAll: true,
    },
    {
      ...ofRouting,
      post: 'routes',
      rpc: 'payweave.payments.v1.RoutingService/PutRoute',
      fields: { kind: 'charge', currency: 'USD', channel: '', connector: 'connector-card' },
    },
    {
      ...ofRouting,
      post: 'removals',
      rpc: 'payweave.payments.v1.RoutingService/DeleteRoute',
      fields: { kind: 'payout', project_id: '', currency: '' },
    },
    {
      ...ofCatalogue,
      post: 'billers',
      rpc: 'payweave.billing.v1.CatalogueService/PutBiller',
      fields: { biller: 'POWER', name: 'Power', active: 'on' },
    },
    {
      ...ofCatalogue,
      post: 'products',
      rpc: 'payweave.billing.v1.CatalogueService/PutProduct',
      fields: {
        biller: 'POWER',
        product: 'HOME',
        name: 'Power',
        pattern: '[0-9]{7}',
        ranges: 'USD:1.00-5.00',
      },
    },
  ]
}
