// Starts the quotes service: its RPCs and the clients that it needs.
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { openServiceDatabase } from '#platform/db/service-database.ts'
import { startRetention } from '#platform/events/retention.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { serveService } from '#platform/process/service-ports.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { openPeer } from '#platform/rpc/client/client.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import { quotesService } from './api/quotes.ts'
import { quoteMetrics } from './metrics.ts'
import { batchingQuotes } from './operations/batching.ts'
import type { Quotes } from './operations/quotes.ts'
import { accountsPort } from './ports/accounts.ts'
import { rateFinder } from './ports/rates.ts'
import { rateSource } from './ports/source.ts'
import { countReserved, deleteUnused } from './store/quote-store.ts'

// The gateway's own five seconds hold for all calls of a quote together.
const accountsTimeoutMs = 4_000

runProcess('quotes', async (stopping, log) => {
  const settings = readSettings('quotes')
  const registry = createMetrics('quotes')
  const identity = processIdentity('quotes', settings, log)
  const db = await openServiceDatabase({
    service: 'quotes',
    settings,
    metrics: registry,
    log,
    stopping,
  })
  const accounts = openPeer('accounts', settings.accountsUrl, identity)
  const backend = openPeer(settings.backendName, settings.backendUrl, identity)
  const metrics = quoteMetrics(registry, () => countReserved(db))
  const quotes: Quotes = {
    db,
    metrics,
    accounts: accountsPort(
      accounts.of(AccountsService, accountsTimeoutMs),
      accounts.of(MovementService, accountsTimeoutMs),
    ),
    findRate: rateFinder({
      source: rateSource(backend.of(RateService)),
      maxAgeS: settings.rateMaxAgeS,
      log,
      onAsked: metrics.asked,
    }),
    storeQuote: batchingQuotes(db, settings.quoteTtlS),
  }
  const retention = startRetention({ db, log, deleteOld: deleteUnused })
  return await serveService({
    settings,
    metrics: registry,
    db,
    identity,
    log,
    stopping,
    services: [QuotesService],
    routes: (router) => router.service(QuotesService, quotesService(quotes)),
    parts: [accounts, backend, { name: 'retention', close: () => retention.close() }],
  })
})
