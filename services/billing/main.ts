// Starts the billing service: its RPCs and its workers.

import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { startInstance } from '#platform/instances/instance.ts'
import { startProcessKeys } from '#platform/keys/key-service.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { runService } from '#platform/process/service.ts'
import { billApprovalService } from './api/approvals.ts'
import { billingService } from './api/billing.ts'
import { catalogueService } from './api/catalogue.ts'
import { startBilling } from './engine.ts'
import { ledgerTimeoutMs } from './operations/pay.ts'
import { billersOver } from './ports/backend.ts'
import { ledgerOver } from './ports/ledger.ts'
import { bringForward } from './store/bill-store.ts'
import { hasLeases, releaseLeases } from './store/lease-store.ts'
import { linkDependants } from './store/link-key-store.ts'

runService(
  'billing',
  () => readSettings('billing'),
  ({ settings, metrics, db, log, peer }) => {
    const keys = openKeys({ dir: settings.secretsDir, names: ['link.key'], log, metrics })
    const accounts = peer('accounts', settings.accountsUrl)
    const backend = peer(settings.backendName, settings.backendUrl)
    const billerTimeoutMs = settings.billerTimeoutS * 1_000
    const instance = startInstance({
      db,
      log,
      leases: { exist: hasLeases, release: releaseLeases },
      onDue: () => engine.billing.notifyEnquiries(),
    })
    const engine = startBilling({
      db,
      log,
      metrics,
      linkKeys: keys['link.key'],
      ledger: ledgerOver(accounts.of(LedgerService, ledgerTimeoutMs(billerTimeoutMs))),
      billers: billersOver(backend.of(BillerService), billerTimeoutMs),
      billerTimeoutMs,
      enquiryScheduleS: settings.enquiryScheduleS,
      issueToken: instance.issueToken,
    })
    const operatorKeys = startProcessKeys({ db, files: keys, log, dependants: linkDependants(db) })
    const { billing, catalogue } = engine
    const { publicBaseUrl, payweaveEnv } = settings
    const receipts = { publicBaseUrl, isSandbox: payweaveEnv !== 'production' }
    return {
      routes: (router) => {
        router.service(BillingService, billingService(billing, receipts))
        router.service(CatalogueService, catalogueService(billing, catalogue))
        router.service(ApprovalService, billApprovalService(billing))
        operatorKeys.routes(router)
      },
      parts: [
        { name: 'workers', close: () => engine.close() },
        { name: 'instance', close: () => instance.close() },
        { name: 'keys', close: () => operatorKeys.close() },
      ],
      onClockMoved: bringForward,
    }
  },
)
