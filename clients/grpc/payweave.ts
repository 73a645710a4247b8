// Joins the services with their addresses into one client.
import type { DescService } from '@bufbuild/protobuf'
import type { Client } from '@grpc/grpc-js'
import { AccessService } from '../../gen/payweave/accounts/v1/access_pb.js'
import { AccountsService } from '../../gen/payweave/accounts/v1/accounts_pb.js'
import { BalanceService } from '../../gen/payweave/accounts/v1/balances_pb.js'
import { CustomerService } from '../../gen/payweave/accounts/v1/customers_pb.js'
import { ItemClaimService } from '../../gen/payweave/accounts/v1/item_claim_pb.js'
import { KeyAdministrationService } from '../../gen/payweave/accounts/v1/key_administration_pb.js'
import { LedgerService } from '../../gen/payweave/accounts/v1/ledger_pb.js'
import { MovementService } from '../../gen/payweave/accounts/v1/movement_pb.js'
import {
  BackendTaskService,
  OnboardingService,
} from '../../gen/payweave/accounts/v1/onboarding_pb.js'
import { ReviewReportService } from '../../gen/payweave/accounts/v1/review_report_pb.js'
import { SettlementPostingService } from '../../gen/payweave/accounts/v1/settlement_posting_pb.js'
import { ApprovalService } from '../../gen/payweave/approvals/v1/approvals_pb.js'
import { ActionAuditService } from '../../gen/payweave/audit/v1/audit_pb.js'
import { BillerService } from '../../gen/payweave/backend/v1/billers_pb.js'
import { ChargeService } from '../../gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '../../gen/payweave/backend/v1/payouts_pb.js'
import { RateService } from '../../gen/payweave/backend/v1/rates_pb.js'
import { ReviewService } from '../../gen/payweave/backend/v1/reviews_pb.js'
import { TransferService } from '../../gen/payweave/backend/v1/transfers_pb.js'
import { BillingService } from '../../gen/payweave/billing/v1/billing_pb.js'
import { CatalogueService } from '../../gen/payweave/billing/v1/catalogue_pb.js'
import { ApiLogService } from '../../gen/payweave/delivery/v1/api_log_pb.js'
import { DeadLetterService } from '../../gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryService } from '../../gen/payweave/delivery/v1/delivery_pb.js'
import { EndpointService } from '../../gen/payweave/delivery/v1/endpoint_pb.js'
import { MerchantDeliveryService } from '../../gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { ReplayService } from '../../gen/payweave/delivery/v1/replay_pb.js'
import { EventDeadLetterService } from '../../gen/payweave/events/v1/event_dead_letter_pb.js'
import { InstitutionService } from '../../gen/payweave/institution/v1/institution_pb.js'
import { TransferReportService } from '../../gen/payweave/institution/v1/transfer_report_pb.js'
import { ChargeReportService } from '../../gen/payweave/payments/v1/charge_report_pb.js'
import { CheckoutService } from '../../gen/payweave/payments/v1/checkout_pb.js'
import { PaymentOperationsService } from '../../gen/payweave/payments/v1/operations_pb.js'
import { PaymentsService } from '../../gen/payweave/payments/v1/payments_pb.js'
import { RoutingService } from '../../gen/payweave/payments/v1/routes_pb.js'
import { SettlementService } from '../../gen/payweave/payments/v1/settlement_pb.js'
import { QuotesService } from '../../gen/payweave/quotes/v1/quotes_pb.js'
import { type ChannelSettings, openChannel } from './channel.ts'
import { type CredentialOptions, createCredential } from './credential.ts'
import { createRetryBudget, type RetryPolicy } from './retry.ts'
import type { ServiceClient } from './service-client.ts'
import { createServiceClient } from './transport.ts'

/** The processes that serve; `backend` is the simulator or a connector of real rails. */
export type Part =
  | 'payments'
  | 'accounts'
  | 'institution'
  | 'quotes'
  | 'billing'
  | 'delivery'
  | 'backend'

/** Every service that a bearer may call, by the name of its client; those that each part serves have no name. */
export const services = {
  payments: ['payments', PaymentsService],
  checkout: ['payments', CheckoutService],
  chargeReports: ['payments', ChargeReportService],
  settlements: ['payments', SettlementService],
  paymentOperations: ['payments', PaymentOperationsService],
  routing: ['payments', RoutingService],
  refundApprovals: ['payments', ApprovalService],
  paymentActions: ['payments', ActionAuditService],
  paymentEventDeadLetters: ['payments', EventDeadLetterService],
  access: ['accounts', AccessService],
  accounts: ['accounts', AccountsService],
  reviewReports: ['accounts', ReviewReportService],
  ledger: ['accounts', LedgerService],
  movements: ['accounts', MovementService],
  settlementPostings: ['accounts', SettlementPostingService],
  balances: ['accounts', BalanceService],
  customers: ['accounts', CustomerService],
  onboardings: ['accounts', OnboardingService],
  backendTasks: ['accounts', BackendTaskService],
  itemClaims: ['accounts', ItemClaimService],
  keyAdministration: ['accounts', KeyAdministrationService],
  accountEventDeadLetters: ['accounts', EventDeadLetterService],
  institution: ['institution', InstitutionService],
  transferReports: ['institution', TransferReportService],
  institutionActions: ['institution', ActionAuditService],
  quotes: ['quotes', QuotesService],
  billing: ['billing', BillingService],
  catalogue: ['billing', CatalogueService],
  billApprovals: ['billing', ApprovalService],
  deliveries: ['delivery', DeliveryService],
  merchantDeliveries: ['delivery', MerchantDeliveryService],
  replays: ['delivery', ReplayService],
  endpoints: ['delivery', EndpointService],
  deadLetters: ['delivery', DeadLetterService],
  deliveryEventDeadLetters: ['delivery', EventDeadLetterService],
  apiLog: ['delivery', ApiLogService],
  charges: ['backend', ChargeService],
  payouts: ['backend', PayoutService],
  reviews: ['backend', ReviewService],
  rates: ['backend', RateService],
  transfers: ['backend', TransferService],
  billers: ['backend', BillerService],
} as const satisfies Record<string, readonly [Part, DescService]>

type Services = typeof services

/** What a client is made with. */
export interface PayweaveClientOptions extends CredentialOptions, ChannelSettings {
  /**
   * One address for all parts, or one for each part that is called. A URL (`http://127.0.0.1:7101`) or a target
   * of gRPC (`dns:///payments:7101`).
   */
  address: string | Partial<Record<Part, string>>
  /** Milliseconds for a call that sets no time-out of its own; 10,000 by default. */
  timeoutMs?: number
  /** Differences from the default policy; `false`: no call is retried. */
  retry?: Partial<RetryPolicy> | false
  /** The W3C trace of the current work: a value, or a function that is called for each call. */
  traceparent?: string | (() => string | undefined)
  /** Returns the request id (UUID) of the current work; where it returns none, each call has a new one. */
  requestId?: () => string | undefined
}

/** A client of each service by name. */
export type PayweaveClient = {
  readonly [Name in keyof Services]: ServiceClient<Services[Name][1]>
} & {
  /**
   * A client of any other service of a part, for example health. Its calls reject with a PayweaveError, or a TypeError
   * when the client has no address of the part.
   */
  service<S extends DescService>(part: Part, service: S): ServiceClient<S>
  /** Lets calls in flight end; later ones are rejected with CANCELLED. */
  close(): void
}

const defaultTimeoutMs = 10_000

/** Whether each part has a name of its own in its certificate. */
function hasNames({ tls }: ChannelSettings): boolean {
  return typeof tls === 'object' && typeof tls.serverName === 'function'
}

/**
 * Makes a client; it connects to a part with the first call to it. Calls reject with a PayweaveError, or a TypeError
 * when the client has no address of the part. Throws a TypeError when both a token and a file are given.
 */
export function createPayweaveClient(options: PayweaveClientOptions): PayweaveClient {
  const { address, timeoutMs = defaultTimeoutMs, retry = {}, traceparent } = options
  const channels = new Map<string, Client>()
  let isClosed = false
  const shared = {
    credential: createCredential(options),
    isClosed: () => isClosed,
    timeoutMs,
    retry,
    traceparent: typeof traceparent === 'function' ? traceparent : () => traceparent,
    requestId: options.requestId ?? (() => undefined),
  }

  function channelOf(part: Part): Client {
    const target = typeof address === 'string' ? address : address[part]
    if (target === undefined) throw new TypeError(`the client was given no address of ${part}`)
    // Parts at one address share its channel unless their certificates have different names.
    const key = typeof address === 'string' && !hasNames(options) ? target : part
    const open = channels.get(key) ?? openChannel(target, part, options)
    channels.set(key, open)
    return open
  }

  const budgets = new Map<Part, ReturnType<typeof createRetryBudget>>()
  function clientOf<S extends DescService>(part: Part, service: S): ServiceClient<S> {
    const budget = budgets.get(part) ?? createRetryBudget()
    budgets.set(part, budget)
    return createServiceClient(service, () => channelOf(part), { ...shared, budget })
  }

  const named = Object.entries(services).map(([name, [part, service]]) => [
    name,
    clientOf(part, service as DescService),
  ])
  return {
    ...(Object.fromEntries(named) as {
      [Name in keyof Services]: ServiceClient<Services[Name][1]>
    }),
    service: clientOf,
    close() {
      isClosed = true
      for (const channel of channels.values()) channel.close()
    },
  }
}
