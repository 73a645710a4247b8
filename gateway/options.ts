// What the gateway is made from; it must not read the environment.
import type { Client } from '@connectrpc/connect'
import type { CheckoutService } from '#gen/payments/v1/checkout_pb.js'
import type { Logger } from '#runtime/log.ts'
import type { Access } from './auth.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'
import type { ReadyParts } from './health.ts'
import type { PaymentsClient } from './routes/payments.ts'

/** Which world this gateway serves. */
export type PayweaveEnv = 'local' | 'sandbox' | 'production'

/** Settings of the edge. */
export type EdgeSettings = {
  environment: PayweaveEnv
  /** What payers' links start with, without a slash at its end. */
  publicBaseUrl: string
  trustedProxies: readonly string[]
  rateLimitRps: number
  gatewayReplicas: number
  /** 0 takes a request of any date. */
  requestDateToleranceS: number
  allowLoopback: boolean
  /** How long a client may take to send a request. */
  requestTimeoutMs?: number
  /** How long answers under way may take once the app closes. */
  stopGraceMs?: number
}

/** What the routes call. */
export type EdgeServices = {
  access: Access
  payments: PaymentsClient
}

/** What the hosted pages call and sign with. */
export type PageServices = {
  checkout: Client<typeof CheckoutService>
  /** 32 bytes. */
  pageKey: Buffer
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
}
