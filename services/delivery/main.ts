// Starts the delivery service: intake of events, the worker that posts, and the RPCs.
import type { ConnectRouter } from '@connectrpc/connect'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { ApiLogService } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { ReplayService } from '#gen/payweave/delivery/v1/replay_pb.js'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { readSettings } from '#platform/config/config.ts'
import type { Database } from '#platform/db/db.ts'
import { openServiceDatabase } from '#platform/db/service-database.ts'
import { eventDeadLetterService } from '#platform/events/dead-letter-service.ts'
import { startConsumer } from '#platform/events/inbox.ts'
import { inboxRoutes } from '#platform/events/inbox-routes.ts'
import { natsFrom } from '#platform/events/nats/access.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { jetStreamMetric, streamAnswers } from '#platform/events/stream-health.ts'
import { serveAdmin } from '#platform/process/admin.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { maxStreamMs } from '#platform/rpc/limits/limits.ts'
import { rpcMetrics } from '#platform/rpc/server/served-call.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { apiLogService } from './api/api-log.ts'
import { deadLetterService } from './api/dead-letters.ts'
import { deliveryService } from './api/deliveries.ts'
import { merchantDeliveryService } from './api/merchant-deliveries.ts'
import { endpointService, replayService } from './api/replays.ts'
import { startDeliveries } from './engine.ts'
import { subjects } from './operations/event-intake.ts'

runProcess('delivery', async (stopping, log) => {
  const settings = readSettings('delivery')
  const { host, port, adminPort } = settings
  const metrics = createMetrics('delivery')
  const identity = processIdentity('delivery', settings, log)
  const db = await openServiceDatabase({ service: 'delivery', settings, metrics, log, stopping })
  const nats = connectNats({ ...natsFrom(settings), name: 'delivery', log })
  jetStreamMetric(metrics, nats)
  const { accountsUrl: url } = settings
  const accounts = createRpcPool(url, { audience: 'accounts', identity })
  const deliveries = startDeliveries({
    access: createRpcClient(AccessService, { url, audience: 'accounts', identity, pool: accounts }),
    db,
    settings,
    log,
    metrics,
    nats,
    version: packageJson.version,
  })
  const consumer = startConsumer({
    db,
    nats,
    durable: 'delivery',
    subjects,
    takeIn: deliveries.takeIn,
    log,
    metrics,
  })
  // The database only: with the broker down, due pushes are still sent.
  const ready = async () => ({ database: await db.ready() })
  const rpc = await serveRpc({
    host,
    port,
    identity,
    drainMs: settings.drainS * 1_000,
    callStreams: settings.rpcCallStreams,
    log,
    metrics: rpcMetrics(metrics),
    routes: (router) => {
      addRoutes(router, db, deliveries, stopping)
      const deadLetters = eventDeadLetterService({ db, log, sides: ['inbox'] })
      router.service(EventDeadLetterService, deadLetters)
    },
    ready: () => db.ready(),
    healthApart: { 'delivery.events': () => streamAnswers(nats) },
  })
  const admin = await serveAdmin({ host, port: adminPort, metrics, ready, log, stopping })
  return [
    { name: 'consumer', close: () => consumer.close() },
    { name: 'rpc', close: () => rpc.close(), closeWithinMs: rpc.closeWithinMs },
    { name: 'deliveries', close: () => deliveries.close(), closeWithinMs: 22_000 },
    { name: 'accounts', close: () => accounts.close() },
    { name: 'nats', close: () => nats.close() },
    { name: 'database', close: () => db.close() },
    { name: 'admin', close: () => admin.close() },
  ]
})

function addRoutes(
  router: ConnectRouter,
  db: Database,
  { tail, notify, notifyReplays }: ReturnType<typeof startDeliveries>,
  stopping: AbortSignal,
): void {
  // A tail ends when the process does, and may last longer than a call.
  const lasting = { shutdownSignal: stopping, maxTimeoutMs: maxStreamMs }
  router.service(DeliveryService, deliveryService({ db, tail, onDue: notify }), lasting)
  router.service(MerchantDeliveryService, merchantDeliveryService({ db, onDue: notify }))
  router.service(ReplayService, replayService({ db, onJob: notifyReplays }))
  router.service(EndpointService, endpointService(db))
  router.service(DeadLetterService, deadLetterService(db))
  router.service(ApiLogService, apiLogService(db))
  inboxRoutes(router, db)
}
