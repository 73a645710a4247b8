// The console on a database of its own, between its built-in identity provider and the services that it calls.
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DescService } from '@bufbuild/protobuf'
import { Failure } from '#core/errors/errors.ts'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { BalanceService } from '#gen/payweave/accounts/v1/balances_pb.js'
import { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { ItemClaimService } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { BackendTaskService, OnboardingService } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { ActionAuditService } from '#gen/payweave/audit/v1/audit_pb.js'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { ApiLogService } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { ReplayService } from '#gen/payweave/delivery/v1/replay_pb.js'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { PaymentOperationsService } from '#gen/payweave/payments/v1/operations_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { RoutingService } from '#gen/payweave/payments/v1/routes_pb.js'
import { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { openClients } from '../../console/clients.ts'
import { type ConsoleOptions, createConsole } from '../../console/http/app.ts'
import { watchParts } from '../../console/parts/reader.ts'
import { sandboxOf } from '../../console/sandbox.ts'
import { localIssuerPath } from '../../console/sign-in/local-provider.ts'
import { openOidc } from '../../console/sign-in/oidc.ts'
import { callbackPath } from '../../console/sign-in/routes.ts'
import { type Activity, insertActivity } from '../../console/store/activity-store.ts'
import { signInLink } from '../../deploy/local/sign-in-key.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { freePorts } from '../support/servers.ts'
import { type Browser, newBrowser } from './http-browser.ts'
import { servePart } from './parts.ts'
import { newPeers } from './peers.ts'
import type { Texts } from './rows.ts'

const host = '127.0.0.1'
const rolesClaim = 'roles'
const clientId = 'console-under-test'
const key = 'the-key-of-the-banner'

/** How long sessions of the tests last. */
export const limits = { idleS: 900, lifetimeS: 7_200 }

export type Harness = Awaited<ReturnType<typeof startHarness>>

/** Starts everything that the tests of a file share. */
export async function startHarness(texts?: Texts) {
  const secrets = mkdtempSync(join(tmpdir(), 'payweave-console-'))
  writeIdentities(secrets, [
    'console',
    'accounts',
    'payments',
    'institution',
    'quotes',
    'billing',
    'delivery',
  ])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const database = await createTestDatabase('console', migrationFolders('console'))
  const testClock = createTestClock()
  const db = database.open({ testClock })
  const peers = newPeers(texts)
  const stopped: Stopped = new Map()
  const serve = (name: string, services: [DescService, object][]) =>
    serveRpc({
      host,
      port: 0,
      log: silentLog,
      identity: identityOf(name),
      routes: (router) => {
        for (const [service, handlers] of services) {
          router.service(service, stoppable(name, handlers, stopped))
        }
      },
    })
  const servers = await Promise.all([
    serve('accounts', [
      [AccessService, peers.access],
      [LedgerService, peers.ledger],
      [BalanceService, peers.balances],
      [SettlementPostingService, peers.settlements],
      [OnboardingService, peers.onboardings],
      [BackendTaskService, peers.backendTasks],
      [ItemClaimService, peers.claims],
      [CustomerService, peers.customers],
      [EventDeadLetterService, peers.eventDeadLetters],
    ]),
    serve('payments', [
      [PaymentsService, peers.payments],
      [SettlementService, peers.paymentSettlements],
      [PaymentOperationsService, peers.paymentOperations],
      [RoutingService, peers.routing],
      [ActionAuditService, peers.actions],
      [ApprovalService, peers.approvals.refunds.handlers],
      [EventDeadLetterService, peers.eventDeadLetters],
    ]),
    serve('institution', [
      [InstitutionService, peers.institution],
      [ActionAuditService, peers.actions],
    ]),
    serve('quotes', [[QuotesService, peers.quotes]]),
    serve('billing', [
      [CatalogueService, peers.catalogue],
      [BillingService, peers.bills],
      [ApprovalService, peers.approvals.bills.handlers],
    ]),
    serve('delivery', [
      [DeliveryService, peers.deliveries],
      [ApiLogService, peers.apiLog],
      [DeadLetterService, peers.deadLetters],
      [MerchantDeliveryService, peers.merchantDeliveries],
      [EndpointService, peers.endpoints],
      [ReplayService, peers.replays],
      [EventDeadLetterService, peers.eventDeadLetters],
    ]),
  ])
  const [
    accountsUrl = '',
    paymentsUrl = '',
    institutionUrl = '',
    quotesUrl = '',
    billingUrl = '',
    deliveryUrl = '',
  ] = servers.map(({ port }) => `http://${host}:${port}`)
  const urls = { accountsUrl, paymentsUrl, institutionUrl, quotesUrl, billingUrl, deliveryUrl }
  const record = (one: Activity) => insertActivity(db, one)
  const clients = openClients(urls, identityOf('console'), record)
  const part = await servePart()
  const parts = watchParts(
    [
      { part: 'payments', url: part.url },
      { part: 'quotes', url: 'http://127.0.0.1:1' },
    ],
    silentLog,
  )
  const [port = 0] = await freePorts(1)
  const consoleUrl = `http://${host}:${port}`
  const redirectUrl = `${consoleUrl}${callbackPath}`
  const options: ConsoleOptions = {
    environment: 'sandbox',
    consoleUrl,
    publicBaseUrl: 'https://pay.example.com',
    limits,
    readerLimits: { stalledMs: 3_000, maxMs: 60_000 },
    searchLimits: { maxProjects: 30, maxMs: 60_000 },
    db,
    clients,
    parts,
    sandbox: {
      // Nothing listens there.
      ...sandboxOf({
        baseUrl: 'http://127.0.0.1:1',
        projects: { demo: { subscriptionKey: 'pwk_test_key', apiKey: 'pwa_key' } },
        readOnly: false,
      }),
      project: peers.projects.demo.name,
    },
    record,
    oidc: openOidc({
      issuer: `${consoleUrl}${localIssuerPath}`,
      clientId,
      clientSecretFile: undefined,
      scope: 'openid profile email',
      rolesClaim,
      redirectUrl,
    }),
    local: {
      consoleUrl,
      clientId,
      redirectUrl,
      rolesClaim,
      key,
      projectIdOf: (name) =>
        Promise.resolve(peers.projects[name === 'demo' ? 'demo' : 'other'].projectId),
    },
    log: silentLog,
  }
  const app = await createConsole(options)
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await app.listen({ host, port })
  return {
    url: consoleUrl,
    link: signInLink(port, key),
    clock: testClock,
    db,
    /** The database, as its superuser. */
    adminUrl: database.url,
    peers,
    identityOf,
    urls,
    stopped,
    part,
    parts,
    /** The connections of the console, as it sees them. */
    sockets: () => [...sockets],
    /** Another console on the same database and services, which listens nowhere. */
    another: (more: Partial<ConsoleOptions>) => createConsole({ ...options, ...more }),
    browse: () => newBrowser(consoleUrl),
    /** How services know a person of the built-in provider. */
    personOf: (id: string) => `${consoleUrl}${localIssuerPath}#${id}`,
    /** A browser in which a person has signed in. */
    async signedIn(personId: string): Promise<Browser> {
      const browser = newBrowser(consoleUrl)
      const choice = await browser.follow(signInLink(port, key))
      await browser.follow(`${new URL(choice.url).href}&login_hint=${personId}`)
      return browser
    },
    async close() {
      await app.close()
      await parts.close()
      part.close()
      await Promise.all(clients.closers.map((one) => one.close()))
      await Promise.all(servers.map((server) => server.close()))
      await database.drop()
      rmSync(secrets, { recursive: true })
    },
  }
}

/** Services that answer nothing at the moment: they refuse each call, or leave it open. */
type Stopped = Map<string, 'refuses' | 'hangs'>

/** Handlers of a service that a test can stop. */
function stoppable(name: string, handlers: object, stopped: Stopped): object {
  const wrapped = Object.entries(handlers).map(([method, handle]) => [
    method,
    (...args: unknown[]): unknown => {
      const how = stopped.get(name)
      if (how === 'hangs') return new Promise(() => {})
      if (how === 'refuses') throw new Failure('SERVICE_UNAVAILABLE', `${name} is down`)
      return (handle as (...given: unknown[]) => unknown)(...args)
    },
  ])
  return Object.fromEntries(wrapped) as object
}
