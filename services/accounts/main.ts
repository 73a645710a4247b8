// Starts the accounts service: who may use the API, and the news when that changes; it must not hold a rule.
import { AccessService } from '#gen/accounts/v1/access_pb.js'
import { SettlementPostingService } from '#gen/accounts/v1/settlement_posting_pb.js'
import { InboxService } from '#gen/events/v1/events_pb.js'
import { SettlementService } from '#gen/payments/v1/settlement_pb.js'
import { serveAdmin } from '#runtime/admin.ts'
import { readSettings } from '#runtime/config.ts'
import { openDatabase } from '#runtime/db.ts'
import { connectNats } from '#runtime/events/nats.ts'
import { startOutbox } from '#runtime/events/outbox.ts'
import { runProcess } from '#runtime/lifecycle.ts'
import { createMetrics, databaseMetrics, rpcMetrics } from '#runtime/metrics.ts'
import { createRpcClient, createRpcPool } from '#runtime/rpc/client.ts'
import { openIdentity } from '#runtime/rpc/identity.ts'
import { serveRpc } from '#runtime/rpc/server.ts'
import { readSecret } from '#runtime/secrets.ts'
import { accountSecrets } from './credentials.ts'
import { accessSubject, onboardingSubject, tellAccessChanged } from './events.ts'
import { accessService } from './service.ts'
import { startSettlements } from './settlements/settlements.ts'

runProcess('accounts', async (stopping, log) => {
  const settings = readSettings('accounts')
  const { host, port, adminPort, secretsDir } = settings
  const metrics = createMetrics('accounts')
  const identity = openIdentity({ name: 'accounts', dir: secretsDir, log })
  const secrets = accountSecrets(
    readSecret(secretsDir, 'pepper'),
    readSecret(secretsDir, 'seal.key'),
  )
  const db = openDatabase({ url: settings.databaseUrl, service: 'accounts', log })
  databaseMetrics(metrics, db)
  const nats = connectNats({ url: settings.natsUrl, name: 'accounts', log })
  const { deliveryUrl: url } = settings
  const pool = createRpcPool(url)
  const delivery = createRpcClient(InboxService, { url, audience: 'delivery', identity, pool })
  const subjects = {
    [accessSubject]: { consumers: {} },
    [onboardingSubject]: { consumers: { delivery } },
  }
  const outbox = startOutbox({ db, nats, subjects, log, metrics })
  const paymentsPool = createRpcPool(settings.paymentsUrl)
  const settlements = startSettlements({
    db,
    nats,
    payments: createRpcClient(SettlementService, {
      url: settings.paymentsUrl,
      audience: 'payments',
      identity,
      pool: paymentsPool,
    }),
    log,
    metrics,
  })
  const ready = async () => ({ database: await db.ready(), nats: nats.ready() })
  const rpc = await serveRpc({
    host,
    port,
    identity,
    log,
    metrics: rpcMetrics(metrics),
    services: [InboxService, SettlementPostingService, AccessService],
    routes: (router) => {
      const administration = { db, secrets, tellAccessChanged, kick: outbox.kick }
      settlements.routes(router)
      router.service(AccessService, accessService(administration))
    },
    // Keys are checked with the broker down: only news waits for it.
    ready: () => db.ready(),
  })
  const admin = await serveAdmin({ host, port: adminPort, metrics, ready, log, stopping })
  return [
    { name: 'rpc', close: () => rpc.close() },
    { name: 'settlements', close: () => settlements.close() },
    { name: 'outbox', close: () => outbox.close() },
    { name: 'delivery', close: () => pool.close() },
    { name: 'payments', close: () => paymentsPool.close() },
    { name: 'nats', close: () => nats.close() },
    { name: 'database', close: () => db.close() },
    { name: 'admin', close: () => admin.close() },
  ]
})
