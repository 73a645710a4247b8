// Starts the quotes service: its RPCs and the clients that it needs.

import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { startRetention } from '#platform/events/retention.ts'
import { runService } from '#platform/process/service.ts'
import { quotesService } from './api/quotes.ts'
import { quoteMetrics } from './metrics.ts'
import { batchingQuotes } from './operations/batching.ts'
import type { Quotes } from './operations/quotes.ts'
import { accountsPort } from './ports/accounts.ts'
import { rateSource } from './ports/backend.ts'
import { rateFinder } from './ports/rates.ts'
import { countReserved, deleteUnused } from './store/quote-store.ts'

// The gateway gives all calls of a quote together 15 s.
const accountsTimeoutMs = 4_000

runService(
  'quotes',
  () => readSettings('quotes'),
  ({ settings, metrics: registry, db, log, peer }) => {
    const accounts = peer('accounts', settings.accountsUrl)
    const backend = peer(settings.backendName, settings.backendUrl)
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
    return {
      routes: (router) => router.service(QuotesService, quotesService(quotes)),
      parts: [{ name: 'retention', close: () => retention.close() }],
    }
  },
)
