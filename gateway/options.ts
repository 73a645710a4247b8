// The dependencies and settings that the gateway is built from.
import type { Client } from '@connectrpc/connect'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import type { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import type { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import type { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import type { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import type { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import type { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Environment } from '#platform/config/setting.ts'
import type { VersionNotices } from '#platform/config/values.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Access } from './access/auth.ts'
import type { FinishedRequest } from './api-log/finished-request.ts'
import type { InFlightLimits } from './http/in-flight.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { ViewerKeys } from './openapi/viewer-keys.ts'
import type { Brands } from './pages/brand/brands.ts'
import type { PaymentChanges } from './pages/live-streams.ts'

/** Times in milliseconds. */
export type RouteTimeouts = {
  /** A request of any route but those that wait for a biller. */
  defaultMs: number
  /** What a bill payment may take besides BILLER_TIMEOUT_S. */
  besideBillerMs: number
  /** Of these times, what is kept for writing the answer: RPCs end that much sooner. */
  answerMs: number
}

/** State of every part by its name. */
export type ReadyParts = () => Promise<Record<string, boolean>>

/** Limits of request bodies. */
export type BodyLimits = {
  /** One body. */
  bytes: number
  /** All incomplete bodies together whose client is not authenticated: bad headers, or a subscription key that is not in the cache. */
  unauthenticatedBytes: number
  /** How long such a body may take. */
  unauthenticatedMs: number
}

/** Settings of the edge. */
export type EdgeSettings = {
  environment: Environment
  /** What payers' links start with, without a slash at its end. */
  publicBaseUrl: string
  trustedProxies: readonly string[]
  rateLimitRps: number
  gatewayReplicas: number
  /** Account look-ups by minute, project and value; 0 counts none. */
  sessionLookupsPerMin: number
  /** 0 takes a request of any date. */
  requestDateToleranceS: number
  allowLoopback: boolean
  /** What is announced of versions that end. */
  versionNotices: VersionNotices
  /** How long a bill payment waits for its biller, which billing decides: BILLER_TIMEOUT_S. */
  billerTimeoutMs: number
  /** What /docs/try-it fills in, in a local sandbox. */
  viewerKeys?: ViewerKeys | undefined
  /** How long a request may take in all. */
  routeTimeouts?: RouteTimeouts
  /** How long a client may take to send a request. */
  requestTimeoutMs?: number
  /** How long requests in flight may take once the app closes. */
  stopGraceMs?: number
  /** Limits of request bodies. */
  bodyLimits?: BodyLimits
  /** How many requests may be in flight. */
  inFlightLimits?: InFlightLimits
}

/** The calls that these routes make. */
export type PaymentsClient = Pick<
  Client<typeof PaymentsService>,
  | 'createPayment'
  | 'getPayment'
  | 'cancelPayment'
  | 'refundPayment'
  | 'listPayments'
  | 'listPaymentEvents'
>

/** The calls that the /account routes make. */
export type AccountsClient = Omit<Client<typeof AccountsService>, 'resolveSession'>

/** The calls that the /bill_payments routes make. */
export type BillingClient = Pick<Client<typeof BillingService>, 'payBill' | 'getBillPayment'>

/** The calls that the routes of quotes make. */
export type QuotesClient = Pick<Client<typeof QuotesService>, 'createQuote' | 'getQuote'>

/** The calls that the routes of institution transactions make. */
export type InstitutionClient = Client<typeof InstitutionService>

/** The calls that the routes of pushes make. */
export type DeliveriesClient = Client<typeof MerchantDeliveryService>

/** What the routes call, and what they sign with. */
export type EdgeServices = {
  access: Access
  payments: PaymentsClient
  quotes: QuotesClient
  accounts: AccountsClient
  billing: BillingClient
  institution: InstitutionClient
  deliveries: DeliveriesClient
  /** Sign the cursors of lists. */
  cursorKeys: KeySource
}

/** What the hosted pages call and sign with. */
export type PageServices = {
  checkout: Client<typeof CheckoutService>
  receipts: Pick<Client<typeof BillingService>, 'readReceipt'>
  /** Sign the tokens in forms. */
  pageKeys: KeySource
  /** Where changes of payments are heard of. */
  changes: PaymentChanges
  /** How pages of merchants look. */
  brands: Brands
}

/** All that the app needs. */
export type GatewayOptions = {
  settings: EdgeSettings
  services: EdgeServices
  log: Logger
  metrics: GatewayMetrics
  /** State of every part, for /readyz. */
  ready: ReadyParts
  /** Absent: there are no pages. */
  pages?: PageServices
  /** Takes the requests of known projects once they have ended. Absent: there is no API log. */
  apiLog?: { add(request: FinishedRequest): void } | undefined
  /** Milliseconds by which calls are counted; absent: those of the process. */
  nowMs?: () => number
}
