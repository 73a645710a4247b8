// Accounts, quotes and institution on one database, speaking RPC to each other, with people of several currencies, for the tests of this folder.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import type { ConnectRouter } from '@connectrpc/connect'
import { Registry } from 'prom-client'
import { CheckGrantResponseSchema } from '#gen/payweave/accounts/v1/access_pb.js'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferReportService } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { rateBetween } from '../../connectors/simulator/domain/rate.ts'
import { publishAccessChanged } from '../../services/accounts/access/ports/events.ts'
import { accountsService } from '../../services/accounts/customers/api/accounts.ts'
import { customerMetrics } from '../../services/accounts/customers/metrics.ts'
import { movementService } from '../../services/accounts/ledger/api/movements.ts'
import { transferReportService } from '../../services/institution/api/reports.ts'
import { institutionService } from '../../services/institution/api/transactions.ts'
import { startInstitution } from '../../services/institution/engine.ts'
import { quotesService } from '../../services/quotes/api/quotes.ts'
import { quoteMetrics } from '../../services/quotes/metrics.ts'
import { batchingQuotes } from '../../services/quotes/operations/batching.ts'
import { accountsPort } from '../../services/quotes/ports/accounts.ts'
import { rateFinder } from '../../services/quotes/ports/rates.ts'
import { countReserved } from '../../services/quotes/store/quote-store.ts'
import { newBackend } from '../institution/peers.ts'
import { userLimits } from '../ledger/harness.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'

const host = '127.0.0.1'
const names = ['accounts', 'quotes', 'institution', 'gateway', 'simulator']

/** Starts the three services with all of their dependencies; only the back end is a stand-in. */
export async function startHarness() {
  const dir = mkdtempSync(join(tmpdir(), 'payweave-money-'))
  writeIdentities(dir, names)
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log: silentLog })
  const database = await createTestDatabase('accounts', migrationFolders('accounts'))
  for (const service of ['quotes', 'institution'] as const) {
    await database.migrate(service, migrationFolders(service))
  }
  const testClock = createTestClock()
  const open = (service: 'accounts' | 'quotes' | 'institution') =>
    database.open({ service, testClock })
  const [accountsDb, quotesDb, institutionDb] = [
    open('accounts'),
    open('quotes'),
    open('institution'),
  ]
  const servers: RpcServer[] = []
  const pools: RpcPool[] = []

  async function serve(
    name: 'accounts' | 'quotes' | 'institution',
    routes: (router: ConnectRouter) => unknown,
  ): Promise<number> {
    const identity = identityOf(name)
    const server = await serveRpc({ host, port: 0, identity, log: silentLog, routes })
    servers.push(server)
    return server.port
  }
  const at = (port: number, audience: string, caller: string) => {
    const url = `http://${host}:${port}`
    const pool = createRpcPool(url)
    pools.push(pool)
    return { url, audience, identity: identityOf(caller), pool }
  }

  const customers = {
    db: accountsDb,
    log: silentLog,
    secrets: { pepper: fixedKeys(), seal: fixedKeys() },
    sessionKeys: fixedKeys(),
    settings: {
      backendName: 'simulator',
      sessionTtlS: 900,
      challengeTtlS: 600,
      userLimits,
      allowLoopback: false,
    },
    metrics: customerMetrics(new Registry(), async () => []),
    publishAccessChanged,
    notify: () => {},
  }
  const accountsAt = await serve('accounts', (router) =>
    router
      .service(AccountsService, accountsService(customers))
      .service(MovementService, movementService({ db: accountsDb, userLimits })),
  )

  const metrics = quoteMetrics(new Registry(), () => countReserved(quotesDb))
  const toAccounts = at(accountsAt, 'accounts', 'quotes')
  const quotes = {
    db: quotesDb,
    metrics,
    accounts: accountsPort(
      createRpcClient(AccountsService, toAccounts),
      createRpcClient(MovementService, toAccounts),
    ),
    findRate: rateFinder({
      source: async (base, quoted) => ({
        text: rateBetween(base, quoted),
        sourceTime: testClock.now(),
      }),
      maxAgeS: 900,
      log: silentLog,
      onAsked: metrics.asked,
      now: testClock.now,
    }),
    storeQuote: batchingQuotes(quotesDb, 300),
  }
  const quotesAt = await serve('quotes', (router) =>
    router.service(QuotesService, quotesService(quotes)),
  )

  const backend = newBackend()
  const fromInstitution = at(accountsAt, 'accounts', 'institution')
  const engine = startInstitution({
    db: institutionDb,
    log: silentLog,
    metrics: new Registry(),
    settings: {
      backendName: 'simulator',
      enquiryScheduleS: [60, 120, 240],
      transferTtlS: 3_600,
      leaseMs: 30_000,
      patienceMs: 10_000,
    },
    peers: {
      access: { checkGrant: async () => create(CheckGrantResponseSchema, { granted: true }) },
      accounts: createRpcClient(AccountsService, fromInstitution),
      movements: createRpcClient(MovementService, fromInstitution),
      quotes: createRpcClient(QuotesService, at(quotesAt, 'quotes', 'institution')),
      ...backend.peers,
    },
    notifyOutbox: () => {},
  })
  const institutionAt = await serve('institution', (router) =>
    router
      .service(InstitutionService, institutionService(engine.institution))
      .service(TransferReportService, transferReportService(engine.institution)),
  )
  return {
    testClock,
    accountsDb,
    quotesDb,
    institutionDb,
    backend,
    accounts: createRpcClient(AccountsService, at(accountsAt, 'accounts', 'gateway')),
    quotes: createRpcClient(QuotesService, at(quotesAt, 'quotes', 'gateway')),
    institution: createRpcClient(InstitutionService, at(institutionAt, 'institution', 'gateway')),
    reports: createRpcClient(TransferReportService, at(institutionAt, 'institution', 'simulator')),
    async stop() {
      await engine.close()
      await Promise.all(pools.map((pool) => pool.close()))
      await Promise.all(servers.map((server) => server.close()))
      await database.drop()
      rmSync(dir, { recursive: true })
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>
