// Starts the billing service: its RPCs and its workers.
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { KeyService } from '#gen/payweave/keys/v1/keys_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { openServiceDatabase } from '#platform/db/service-database.ts'
import { startProcessKeys } from '#platform/keys/key-service.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { serveService } from '#platform/process/service-ports.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { openPeer } from '#platform/rpc/client/client.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import { billingService } from './api/billing.ts'
import { catalogueService } from './api/catalogue.ts'
import { startBilling } from './engine.ts'
import { ledgerTimeoutMs } from './operations/pay.ts'
import { billersOver } from './ports/backend.ts'
import { ledgerOver } from './ports/ledger.ts'
import { linkDependants } from './store/link-key-store.ts'

runProcess('billing', async (stopping, log) => {
  const settings = readSettings('billing')
  const { secretsDir } = settings
  const metrics = createMetrics('billing')
  const identity = processIdentity('billing', settings, log)
  const keys = openKeys({ dir: secretsDir, names: ['link.key'], log, metrics })
  const db = await openServiceDatabase({ service: 'billing', settings, metrics, log, stopping })
  const accounts = openPeer('accounts', settings.accountsUrl, identity)
  const backend = openPeer(settings.backendName, settings.backendUrl, identity)
  const billerTimeoutMs = settings.billerTimeoutS * 1_000
  const engine = startBilling({
    db,
    log,
    metrics,
    linkKeys: keys['link.key'],
    ledger: ledgerOver(accounts.of(LedgerService, ledgerTimeoutMs(billerTimeoutMs))),
    billers: billersOver(backend.of(BillerService), billerTimeoutMs),
    billerTimeoutMs,
    enquiryScheduleS: settings.enquiryScheduleS,
  })
  const operatorKeys = startProcessKeys({ db, files: keys, log, dependants: linkDependants(db) })
  const { billing, catalogue } = engine
  return await serveService({
    settings,
    metrics,
    db,
    identity,
    log,
    stopping,
    services: [BillingService, CatalogueService, KeyService],
    routes: (router) => {
      router.service(BillingService, billingService(billing, settings.publicBaseUrl))
      router.service(CatalogueService, catalogueService(billing, catalogue))
      operatorKeys.routes(router)
    },
    parts: [
      { name: 'workers', close: () => engine.close() },
      { name: 'keys', close: () => operatorKeys.close() },
      accounts,
      backend,
    ],
  })
})
