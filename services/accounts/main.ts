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
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
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
  const { secretsDir } = settings
  const metrics = createMetrics('accounts')
  const identity = processIdentity('accounts', settings, log)
  const keys = openKeys({
    dir: secretsDir,
    names: [...accountKeyFiles, 'session.key'],
    log,
    metrics,
  })
  const secrets = accountSecrets(keys)
  const db = await openServiceDatabase({ service: 'accounts', settings, metrics, log, stopping })
  const nats = connectNats({ ...natsFrom(settings), name: 'accounts', log })
  jetStreamMetric(metrics, nats)
  const others = connectOthers(settings, identity)
  const subjects = {
    [accessSubject]: { consumers: {} },
    [onboardingSubject]: { consumers: { delivery: others.delivery } },
  }
  const outbox = startOutbox({ db, nats, subjects, log, metrics })
  const settlements = startSettlements({ db, nats, payments: others.payments, log, metrics })
  const customers = startCustomers({
    db,
    log,
    registry: metrics,
    secrets,
    sessionKeys: keys['session.key'],
    settings: customerSettings(settings),
    backend: reviewBackend(others.reviews),
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
      { name: 'clients', close: () => others.close() },
      { name: 'nats', close: () => nats.close() },
    ],
  })
})

/** Clients of the other processes; nothing connects before the first call. */
function connectOthers(settings: SettingsOf<'accounts'>, identity: Identity) {
  const pools: RpcPool[] = []
  const at = (url: string, audience: string) => {
    const pool = createRpcPool(url, { audience, identity })
    pools.push(pool)
    return { url, audience, identity, pool }
  }
  return {
    delivery: createRpcClient(InboxService, at(settings.deliveryUrl, 'delivery')),
    payments: createRpcClient(SettlementService, at(settings.paymentsUrl, 'payments')),
    reviews: createRpcClient(ReviewService, at(settings.backendUrl, 'simulator')),
    async close() {
      await Promise.all(pools.map((pool) => pool.close()))
    },
  }
}

function customerSettings(settings: SettingsOf<'accounts'>): CustomerSettings {
  const { sessionTtlS, challengeTtlS, userLimits, deliveryAllowLoopback } = settings
  return { sessionTtlS, challengeTtlS, userLimits, allowLoopback: deliveryAllowLoopback }
}
