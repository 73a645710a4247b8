// Quotes on a database of its own, served over RPC between accounts, a source of rates and callers, for the tests of this folder.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import {
  type CreateQuoteRequestSchema,
  type Quote,
  QuoteKind,
  QuotesService,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { quotesService } from '../../services/quotes/api/quotes.ts'
import { quoteMetrics } from '../../services/quotes/metrics.ts'
import { batchingQuotes } from '../../services/quotes/operations/batching.ts'
import { accountsPort } from '../../services/quotes/ports/accounts.ts'
import { rateSource } from '../../services/quotes/ports/backend.ts'
import { rateFinder } from '../../services/quotes/ports/rates.ts'
import { countReserved } from '../../services/quotes/store/quote-store.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import {
  accountId,
  institutionId,
  institutionName,
  newAccounts,
  newSource,
  token,
} from './peers.ts'

const host = '127.0.0.1'
export const ttlS = 300
const maxAgeS = 900

/** A request for a quote, in part. */
export type Asked = Extract<
  MessageInitShape<typeof CreateQuoteRequestSchema>,
  { $typeName?: undefined }
>

/** Money, as messages carry it. */
export function money(currency: string, minorUnits: bigint) {
  return { currency, minorUnits }
}

/** Starts everything that the tests of a file share; quotes reach PostgreSQL by what `through` makes of its URL. */
export async function startHarness(through = async (target: URL) => target.href) {
  const secrets = mkdtempSync(join(tmpdir(), 'payweave-quotes-'))
  writeIdentities(secrets, ['quotes', 'accounts', 'simulator', 'gateway', 'institution'])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const database = await createTestDatabase('quotes', migrationFolders('quotes'))
  const testClock = createTestClock()
  const db = database.open({ testClock, url: await through(new URL(database.url)) })
  const projectId = randomUUID()
  const accounts = newAccounts(projectId)
  const source = newSource()
  source.state.now = testClock.now
  const listen = { host, port: 0, log: silentLog }
  const servers = [
    await serveRpc({
      ...listen,
      identity: identityOf('accounts'),
      routes: (router) =>
        router
          .service(AccountsService, accounts.accounts)
          .service(MovementService, accounts.movements),
    }),
    await serveRpc({
      ...listen,
      identity: identityOf('simulator'),
      routes: (router) => router.service(RateService, source.rates),
    }),
  ]
  const pools: ReturnType<typeof createRpcPool>[] = []
  const at = (name: string, audience: string, port = 0) => {
    const url = `http://${host}:${port}`
    const pool = createRpcPool(url)
    pools.push(pool)
    return { url, audience, identity: identityOf(name), pool }
  }
  const toAccounts = at('quotes', 'accounts', servers[0]?.port)
  const registry = new Registry()
  const metrics = quoteMetrics(registry, () => countReserved(db))
  const quotes = {
    db,
    metrics,
    accounts: accountsPort(
      createRpcClient(AccountsService, toAccounts),
      createRpcClient(MovementService, toAccounts),
    ),
    findRate: rateFinder({
      source: rateSource(createRpcClient(RateService, at('quotes', 'simulator', servers[1]?.port))),
      maxAgeS,
      log: silentLog,
      onAsked: metrics.asked,
      now: testClock.now,
    }),
    storeQuote: batchingQuotes(db, ttlS),
  }
  const server = await serveRpc({
    ...listen,
    identity: identityOf('quotes'),
    routes: (router) => router.service(QuotesService, quotesService(quotes)),
  })
  const gateway = createRpcClient(QuotesService, at('gateway', 'quotes', server.port))
  const institution = createRpcClient(QuotesService, at('institution', 'quotes', server.port))
  return {
    db,
    testClock,
    projectId,
    accounts,
    source,
    registry,
    gateway,
    institution,
    ...callers(gateway, institution, projectId),
    async stop() {
      await server.close()
      await Promise.all(pools.map((pool) => pool.close()))
      await Promise.all(servers.map((one) => one.close()))
      await database.drop()
      rmSync(secrets, { recursive: true })
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>
type Client = ReturnType<typeof createRpcClient<typeof QuotesService>>

/** Calls with everything filled in that a test does not care about. */
function callers(gateway: Client, institution: Client, projectId: string) {
  const given = (quote: Quote | undefined): Quote => {
    if (quote === undefined) throw new Error('the answer has no quote')
    return quote
  }
  const claim = (quoteId: string, movementId: string) => ({ projectId, quoteId, movementId })
  return {
    quote: async (more: Asked = {}): Promise<Quote> => {
      const { quote } = await gateway.createQuote({
        projectId,
        sessionToken: token,
        institutionName,
        kind: QuoteKind.TRANSFER,
        requested: money('USD', 1_000n),
        ...(more.kind === QuoteKind.INSTITUTION ? {} : { creditParty: { currency: 'TTD' } }),
        ...more,
      })
      return given(quote)
    },
    get: async (quoteId: string, more: object = {}): Promise<Quote> =>
      given((await gateway.getQuote({ projectId, institutionName, quoteId, ...more })).quote),
    /** Reserves a quote of 10.00 USD in TTD. */
    reserve: async (quoteId: string, movementId: string, more: object = {}): Promise<Quote> => {
      const { quote } = await institution.reserveQuote({
        ...claim(quoteId, movementId),
        institutionId,
        accountId,
        debit: money('USD', 1_000n),
        credit: money('TTD', 6_782n),
        ...more,
      })
      return given(quote)
    },
    confirm: (quoteId: string, movementId: string, transactionStatus?: QuoteTransactionStatus) =>
      institution.confirmQuote({
        ...claim(quoteId, movementId),
        transactionId: 'transfer-1',
        institutionReceiptId: 'receipt-1',
        transactionStatus: transactionStatus ?? QuoteTransactionStatus.PENDING,
      }),
    release: (quoteId: string, movementId: string) =>
      institution.releaseQuote(claim(quoteId, movementId)),
    update: (quoteId: string, movementId: string, transactionStatus: QuoteTransactionStatus) =>
      institution.updateQuoteTransaction({ ...claim(quoteId, movementId), transactionStatus }),
  }
}

/** The reason of a refusal, and the field that it names. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Failure)) throw error
  return [error.reason, error.details['field']].filter((part) => part !== undefined).join(' ')
}
