// Starts the delivery service: intake of events, the worker that posts, the RPCs that show it; it must not hold a rule.
import { AccessService } from '#gen/accounts/v1/access_pb.js'
import { DeliveryService } from '#gen/delivery/v1/delivery_pb.js'
import { EndpointService } from '#gen/delivery/v1/endpoint_pb.js'
import { ReplayService } from '#gen/delivery/v1/replay_pb.js'
import { InboxService } from '#gen/events/v1/events_pb.js'
import { serveAdmin } from '#runtime/admin.ts'
import { readSettings } from '#runtime/config.ts'
import { startConsumer } from '#runtime/events/inbox.ts'
import { inboxRoutes } from '#runtime/events/inbox-routes.ts'
import { connectNats } from '#runtime/events/nats.ts'
import { natsFrom } from '#runtime/events/nats-access.ts'
import { runProcess } from '#runtime/lifecycle.ts'
import { createMetrics, rpcMetrics } from '#runtime/metrics.ts'
import { longestStreamMs } from '#runtime/rpc/admission.ts'
import { createRpcClient, createRpcPool } from '#runtime/rpc/client.ts'
import { processIdentity } from '#runtime/rpc/process-identity.ts'
import { serveRpc } from '#runtime/rpc/server.ts'
import { openServiceDatabase } from '#runtime/service-database.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { startDeliveries } from './engine.ts'
import { subjects } from './events.ts'
import { endpointService, replayService } from './replay-service.ts'
import { deliveryService } from './service.ts'

runProcess('delivery', async (stopping, log) => {
  const settings = readSettings('delivery')
  const { host, port, adminPort } = settings
  const metrics = createMetrics('delivery')
  const identity = processIdentity('delivery', settings, log)
  const db = await openServiceDatabase({ service: 'delivery', settings, metrics, log, stopping })
  const nats = connectNats({ ...natsFrom(settings), name: 'delivery', log })
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
    handle: deliveries.takeIn,
    log,
    metrics,
  })
  // The database alone: with the broker down, pushes that are due go out all the same.
  const ready = async () => ({ database: await db.ready() })
  const rpc = await serveRpc({
    host,
    port,
    identity,
    drainMs: settings.drainS * 1_000,
    links: settings.rpcLinks,
    log,
    metrics: rpcMetrics(metrics),
    services: [DeliveryService, ReplayService, EndpointService, InboxService],
    routes: (router) => {
      const { tail, kick, kickReplays } = deliveries
      // A tail ends when the process does, and may last longer than a call.
      const lasting = { shutdownSignal: stopping, maxTimeoutMs: longestStreamMs }
      router.service(DeliveryService, deliveryService({ db, tail, onDue: kick }), lasting)
      router.service(ReplayService, replayService({ db, onJob: kickReplays }))
      router.service(EndpointService, endpointService(db))
      inboxRoutes(router, db)
    },
    ready: () => db.ready(),
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
