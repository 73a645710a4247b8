// Starts the billing service: its RPCs and its workers; it must not hold a rule.
import { LedgerService } from '#gen/accounts/v1/ledger_pb.js'
import { BillerService } from '#gen/backend/v1/billers_pb.js'
import { BillingService } from '#gen/billing/v1/billing_pb.js'
import { CatalogueService } from '#gen/billing/v1/catalogue_pb.js'
import { KeyService } from '#gen/keys/v1/keys_pb.js'
import { readSettings } from '#runtime/config.ts'
import { startProcessKeys } from '#runtime/keys/key-service.ts'
import { runProcess } from '#runtime/lifecycle.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { createRpcClient, createRpcPool } from '#runtime/rpc/client.ts'
import { processIdentity } from '#runtime/rpc/process-identity.ts'
import { openKeys } from '#runtime/secrets.ts'
import { openServiceDatabase } from '#runtime/service-database.ts'
import { serveService } from '#runtime/service-ports.ts'
import { billersOver } from './backend.ts'
import { startBilling } from './engine.ts'
import { ledgerOver } from './ledger.ts'
import { linkDependants } from './link-key-store.ts'
import { ledgerTimeoutMs } from './pay.ts'
import { billingService } from './service.ts'
import { catalogueService } from './service-catalogue.ts'

runProcess('billing', async (stopping, log) => {
  const settings = readSettings('billing')
  const { secretsDir } = settings
  const metrics = createMetrics('billing')
  const identity = processIdentity('billing', settings, log)
  const keys = openKeys({ dir: secretsDir, names: ['link.key'], log, metrics })
  const db = await openServiceDatabase({ service: 'billing', settings, metrics, log, stopping })
  const accounts = createRpcPool(settings.accountsUrl, { audience: 'accounts', identity })
  const backend = createRpcPool(settings.backendUrl, { audience: 'simulator', identity })
  const billerTimeoutMs = settings.billerTimeoutS * 1_000
  const engine = startBilling({
    db,
    log,
    metrics,
    linkKeys: keys['link.key'],
    ledger: ledgerOver(
      createRpcClient(LedgerService, {
        url: settings.accountsUrl,
        audience: 'accounts',
        identity,
        pool: accounts,
        timeoutMs: ledgerTimeoutMs(billerTimeoutMs),
      }),
    ),
    billers: billersOver(
      createRpcClient(BillerService, {
        url: settings.backendUrl,
        audience: 'simulator',
        identity,
        pool: backend,
      }),
      billerTimeoutMs,
    ),
    billerTimeoutMs,
    enquiryScheduleS: settings.enquiryScheduleS,
  })
  const operatorKeys = startProcessKeys({
    db,
    files: keys,
    log,
    dependants: linkDependants(db),
  })
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
      { name: 'accounts', close: () => accounts.close() },
      { name: 'backend', close: () => backend.close() },
    ],
  })
})
