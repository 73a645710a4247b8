// A gateway on a real socket with small real servers in the place of accounts and payments; it must not hold assertions.
import { mkdtempSync, rmSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServiceImpl } from '@connectrpc/connect'
import { Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { createAccess } from '../../gateway/access/auth.ts'
import { createGateway } from '../../gateway/http/app.ts'
import { gatewayMetrics } from '../../gateway/metrics.ts'
import type { EdgeSettings, GatewayOptions } from '../../gateway/options.ts'
import { fixedKeys } from '../support/keys.ts'
import { expectDocumented } from '../support/openapi.ts'
import { accountsStandIn, newSeenAccounts, type SeenAccounts } from './stand-ins/accounts.ts'
import { billingStandIn, newSeenBills, type SeenBills } from './stand-ins/billing.ts'
import {
  institutionStandIn,
  newSeenTransactions,
  type SeenTransactions,
} from './stand-ins/institution.ts'
import { deliveriesStandIn, newSeenMerchant } from './stand-ins/merchant.ts'
import { newObservedCalls, type ObservedCalls, observer } from './stand-ins/observed-calls.ts'
import { paymentsStandIn, type SeenPayments } from './stand-ins/payments.ts'
import { newSeenQuotes, quotesStandIn, type SeenQuotes } from './stand-ins/quotes.ts'

/** Keys that the stand-in for accounts knows, by what they may do. */
export const keys = {
  demo: 'pwk_test_DEMODEMODEMODEMODEMODEM',
  paymentsOnly: 'pwk_test_PAYMENTSONLYPAYMENTSONL',
  ipRestricted: 'pwk_test_IPRESTRICTEDIPRESTRICTE',
  unknown: 'pwk_test_UNKNOWNUNKNOWNUNKNOWNUN',
}
export const apiKey = 'DEMOAPIKEYDEMOAPIKEYDEMOAPIKEYDE'
export const allowedIp = '203.0.113.7'
const projectIds = {
  [keys.demo]: '0198c000-0000-7000-8000-000000000001',
  [keys.paymentsOnly]: '0198c000-0000-7000-8000-000000000002',
  [keys.ipRestricted]: '0198c000-0000-7000-8000-000000000003',
}
export const merchantId = '0198c000-0000-7000-8000-00000000000a'
export { paymentId } from './stand-ins/merchant.ts'

/** What the stand-ins were asked, and how to make them answer otherwise. */
type StandIns = SeenPayments & {
  keyLookups: string[]
  apiKeyLookups: number
  onKeyLookup?: (() => void) | undefined
  accounts: SeenAccounts
  bills: SeenBills
  quotes: SeenQuotes
  transactions: SeenTransactions
  calls: ObservedCalls
}

export type EdgeFixture = Awaited<ReturnType<typeof startEdge>>

const defaults: EdgeSettings = {
  environment: 'local',
  publicBaseUrl: 'http://127.0.0.1:8080',
  trustedProxies: [],
  rateLimitRps: 0,
  gatewayReplicas: 1,
  sessionLookupsPerMin: 0,
  requestDateToleranceS: 0,
  allowLoopback: true,
  versionNotices: {},
  billerTimeoutMs: 8_000,
}

/** Starts all of them; `settings` and `overrides` change the gateway alone. A clock given here is that of its memory too. With `isSubscribed`, accepted keys outlive a failure of accounts. */
export async function startEdge(
  { rpcTimeoutMs = 10_000, ...settings }: Partial<EdgeSettings> & { rpcTimeoutMs?: number } = {},
  { isSubscribed = false, ...overrides }: Partial<GatewayOptions> & { isSubscribed?: boolean } = {},
) {
  const dir = mkdtempSync(join(tmpdir(), 'payweave-edge-'))
  writeIdentities(dir, [
    'gateway',
    'accounts',
    'payments',
    'billing',
    'quotes',
    'institution',
    'delivery',
  ])
  const lines: Array<Record<string, unknown>> = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLogger({ part: 'gateway', level: 'info', destination })
  const quiet = createLogger({ part: 'standin', level: 'silent' })
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log: quiet })
  const seen: StandIns = {
    created: [],
    keyLookups: [],
    apiKeyLookups: 0,
    accounts: newSeenAccounts(),
    bills: newSeenBills(),
    quotes: newSeenQuotes(),
    transactions: newSeenTransactions(),
    merchant: newSeenMerchant(),
    calls: newObservedCalls(),
  }
  const observed = observer(seen.calls)
  const listen = { host: '127.0.0.1', port: 0, log: quiet }
  const accounts = await serveRpc({
    ...listen,
    identity: identityOf('accounts'),
    routes: (router) =>
      router
        .service(AccessService, accessStandIn(seen))
        .service(AccountsService, observed(AccountsService, accountsStandIn(seen.accounts))),
  })
  const payments = await serveRpc({
    ...listen,
    identity: identityOf('payments'),
    routes: (router) =>
      router.service(PaymentsService, observed(PaymentsService, paymentsStandIn(seen))),
  })
  const billing = await serveRpc({
    ...listen,
    identity: identityOf('billing'),
    routes: (router) =>
      router.service(BillingService, observed(BillingService, billingStandIn(seen.bills))),
  })
  const quotes = await serveRpc({
    ...listen,
    identity: identityOf('quotes'),
    routes: (router) =>
      router.service(QuotesService, observed(QuotesService, quotesStandIn(seen.quotes))),
  })
  const institution = await serveRpc({
    ...listen,
    identity: identityOf('institution'),
    routes: (router) =>
      router.service(
        InstitutionService,
        observed(InstitutionService, institutionStandIn(seen.transactions)),
      ),
  })
  const delivery = await serveRpc({
    ...listen,
    identity: identityOf('delivery'),
    routes: (router) =>
      router.service(
        MerchantDeliveryService,
        observed(MerchantDeliveryService, deliveriesStandIn(seen.merchant)),
      ),
  })
  const rpc = { identity: identityOf('gateway'), timeoutMs: rpcTimeoutMs }
  const registry = new Registry()
  const metrics = gatewayMetrics(registry)
  const environment = settings.environment ?? defaults.environment
  const atAccounts = { ...rpc, url: `http://127.0.0.1:${accounts.port}`, audience: 'accounts' }
  const access = createAccess({
    accounts: createRpcClient(AccessService, atAccounts),
    environment,
    onLookup: metrics.looked,
    isSubscribed: () => isSubscribed,
    ...(overrides.nowMs !== undefined && { nowMs: overrides.nowMs }),
  })
  const { app, inFlight, makeDocuments } = await createGateway({
    settings: { ...defaults, ...settings },
    services: {
      access,
      accounts: createRpcClient(AccountsService, atAccounts),
      payments: createRpcClient(PaymentsService, {
        ...rpc,
        url: `http://127.0.0.1:${payments.port}`,
        audience: 'payments',
      }),
      billing: createRpcClient(BillingService, {
        ...rpc,
        url: `http://127.0.0.1:${billing.port}`,
        audience: 'billing',
      }),
      quotes: createRpcClient(QuotesService, {
        ...rpc,
        url: `http://127.0.0.1:${quotes.port}`,
        audience: 'quotes',
      }),
      institution: createRpcClient(InstitutionService, {
        ...rpc,
        url: `http://127.0.0.1:${institution.port}`,
        audience: 'institution',
      }),
      deliveries: createRpcClient(MerchantDeliveryService, {
        ...rpc,
        url: `http://127.0.0.1:${delivery.port}`,
        audience: 'delivery',
      }),
      cursorKeys: fixedKeys(),
    },
    log,
    metrics,
    ready: () => Promise.resolve({ gateway: true }),
    ...overrides,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return {
    app,
    inFlight,
    makeDocuments,
    port,
    url: `http://127.0.0.1:${port}`,
    access,
    lines,
    metrics: () => registry.metrics(),
    seen,
    stopAccounts: () => accounts.close(),
    stopPayments: () => payments.close(),
    async close() {
      await app.close()
      const servers = [accounts, payments, billing, quotes, institution, delivery]
      await Promise.all(servers.map((server) => server.close()))
      rmSync(dir, { recursive: true })
    },
  }
}

function accessStandIn(seen: StandIns): Partial<ServiceImpl<typeof AccessService>> {
  return {
    authenticateSubscriptionKey({ subscriptionKey }) {
      seen.onKeyLookup?.()
      seen.keyLookups.push(subscriptionKey)
      const projectId = projectIds[subscriptionKey]
      if (projectId === undefined) throw new Failure('PW_INVALID_SUBSCRIPTION_KEY', 'no')
      const accountAccess = subscriptionKey !== keys.paymentsOnly
      const allowedIps = subscriptionKey === keys.ipRestricted ? [allowedIp] : []
      return { project: { projectId, accountAccess, allowedIps }, keyId: projectId }
    },
    authenticateApiKey({ projectId, apiKey: key }) {
      seen.apiKeyLookups += 1
      if (key !== apiKey) throw new Failure('PW_INVALID_API_KEY', 'no')
      return { merchant: { merchantId, projectId, businessName: 'Demo Store' } }
    },
    checkGrant: ({ institutionName }) => ({ granted: institutionName === 'Demo Wallet' }),
  }
}

/** Headers that every check passes. */
export function goodHeaders(more: Record<string, string> = {}): Record<string, string> {
  return {
    'PW-subscription-key': keys.demo,
    'PW-origin-country': 'TT',
    'PW-request-date': '2026-01-01 12:00:00',
    'PW-ip-address': allowedIp,
    'User-Agent': 'edge-test/1.0',
    ...more,
  }
}

/** An answer as a client sees it. */
export type Seen = { status: number; headers: Headers; body: Record<string, unknown>; text: string }

/** One call by fetch, whose answer must be a documented one. A string or form is sent as it is, anything else as JSON. */
export async function call(
  url: string,
  method: string,
  path: string,
  { headers = goodHeaders(), body }: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Seen> {
  const isRaw = typeof body === 'string' || body instanceof FormData || body instanceof Uint8Array
  const isJson = body !== undefined && !(body instanceof FormData)
  const type =
    isJson && !hasHeader(headers, 'content-type') ? { 'content-type': 'application/json' } : {}
  const init: RequestInit = { method, headers: { ...type, ...headers } }
  if (body !== undefined) init.body = isRaw ? (body as string) : JSON.stringify(body)
  const response = await fetch(`${url}${path}`, init)
  const text = await response.text()
  const { status, headers: answered } = response
  expectDocumented({ method, path: path.replace(/[?#].*$/s, ''), status, headers: answered, text })
  return { status, headers: answered, text, body: parse(text) }
}

function hasHeader(headers: Record<string, string>, name: string): boolean {
  return Object.keys(headers).some((key) => key.toLowerCase() === name)
}

function parse(text: string): Record<string, unknown> {
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

/** Sends bytes on a socket of its own and reads until the other side closes or `untilMs` have passed. */
export function sendRaw(port: number, bytes: string | Buffer, untilMs = 15_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    let received = ''
    const timer = setTimeout(() => socket.destroy(), untilMs)
    socket.on('connect', () => socket.write(bytes))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.on('error', (error) => (received === '' ? reject(error) : undefined))
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(received)
    })
  })
}

/** The parts of a raw answer. */
export function parseRaw(text: string): Seen {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = new Headers(
    lines.map((line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1).trim()]),
  )
  const body = rest.join('\r\n\r\n')
  return { status: Number(statusLine.split(' ')[1]), headers, text: body, body: parse(body) }
}

/** A payment request that is accepted. */
export function goodPayment(more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    api_key: apiKey,
    transaction_request: {
      id: 'order-1',
      amount: '100.00',
      currency: 'TTD',
      payers: [
        {
          mobile_number: '+18683501234',
          payment_channel: 'payment_link',
          payment_method: 'wallet',
        },
      ],
      ...more,
    },
  }
}
