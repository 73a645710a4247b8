// Starts the accounts service: access to the API, customers and their accounts, the ledger.
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { KeyAdministrationService } from '#gen/payweave/accounts/v1/key_administration_pb.js'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { KeyService } from '#gen/payweave/keys/v1/keys_pb.js'
import { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { readSettings, type SettingsOf } from '#platform/config/config.ts'
import { openServiceDatabase } from '#platform/db/service-database.ts'
import { natsFrom } from '#platform/events/nats/access.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { startOutbox } from '#platform/events/outbox.ts'
import { jetStreamMetric } from '#platform/events/stream-health.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { serveService } from '#platform/process/service-ports.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { openPeer } from '#platform/rpc/client/client.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import { accessService } from './access/api/access.ts'
import { accountKeyFiles, accountSecrets } from './access/domain/credentials.ts'
import { startAccountKeys } from './access/operations/key-administration.ts'
import { accessSubject, onboardingSubject, publishAccessChanged } from './access/ports/events.ts'
import { customerServices, startCustomers } from './customers/engine.ts'
import type { CustomerSettings } from './customers/operations/customers.ts'
import { reviewBackend } from './customers/ports/backend.ts'
import { ledgerServices, startLedger } from './ledger/engine.ts'
import { startSettlements } from './ledger/settlements.ts'

runProcess('accounts', async (stopping, log) => {
  const settings = readSettings('accounts')
  const metrics = createMetrics('accounts')
  const identity = processIdentity('accounts', settings, log)
  const names = [...accountKeyFiles, 'session.key'] as const
  const keys = openKeys({ dir: settings.secretsDir, names, log, metrics })
  const secrets = accountSecrets(keys)
  const db = await openServiceDatabase({ service: 'accounts', settings, metrics, log, stopping })
  const nats = connectNats({ ...natsFrom(settings), name: 'accounts', log })
  jetStreamMetric(metrics, nats)
  const delivery = openPeer('delivery', settings.deliveryUrl, identity)
  const payments = openPeer('payments', settings.paymentsUrl, identity)
  const backend = openPeer(settings.backendName, settings.backendUrl, identity)
  const subjects = {
    [accessSubject]: { consumers: {} },
    [onboardingSubject]: { consumers: { delivery: delivery.of(InboxService) } },
  }
  const outbox = startOutbox({ db, nats, subjects, log, metrics })
  const settled = payments.of(SettlementService)
  const settlements = startSettlements({ db, nats, payments: settled, log, metrics })
  const customers = startCustomers({
    db,
    log,
    registry: metrics,
    secrets,
    sessionKeys: keys['session.key'],
    settings: customerSettings(settings),
    backend: reviewBackend(backend.of(ReviewService)),
    publishAccessChanged,
    notifyOutbox: outbox.notify,
  })
  const operatorKeys = startAccountKeys({ db, files: keys, log })
  const ledger = startLedger({ db, settings, log, registry: metrics })
  return await serveService({
    settings,
    metrics,
    db,
    identity,
    log,
    stopping,
    services: [
      InboxService,
      SettlementPostingService,
      AccessService,
      KeyService,
      KeyAdministrationService,
      ...customerServices,
      ...ledgerServices,
    ],
    routes: (router) => {
      const administration = { db, secrets, publishAccessChanged, notify: outbox.notify }
      settlements.routes(router)
      router.service(AccessService, accessService(administration))
      customers.routes(router)
      ledger.routes(router)
      operatorKeys.routes(router)
    },
    parts: [
      { name: 'customers', close: () => customers.close() },
      { name: 'ledger', close: () => ledger.close() },
      { name: 'settlements', close: () => settlements.close() },
      { name: 'keys', close: () => operatorKeys.close() },
      { name: 'outbox', close: () => outbox.close() },
      delivery,
      payments,
      backend,
      { name: 'nats', close: () => nats.close() },
    ],
  })
})

function customerSettings(settings: SettingsOf<'accounts'>): CustomerSettings {
  const { sessionTtlS, challengeTtlS, userLimits, deliveryAllowLoopback } = settings
  return { sessionTtlS, challengeTtlS, userLimits, allowLoopback: deliveryAllowLoopback }
}
