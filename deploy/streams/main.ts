// Starts the stream controller of an installation: a process that keeps the stream and its consumers at the broker. It has no
// port but the one for operators. In a local start the launcher does this work.

import { readSettings } from '#platform/config/config.ts'
import { natsFrom } from '#platform/events/nats/access.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { startStreamController } from '#platform/events/stream-controller.ts'
import { serveAdmin } from '#platform/process/admin.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'

runProcess('stream-controller', async (stopping, log) => {
  const settings = readSettings('stream-controller')
  const { host, adminPort: port, natsReplicas: replicas } = settings
  const nats = connectNats({
    ...natsFrom(settings),
    name: 'stream-controller',
    log,
    stream: { replicas },
  })
  const controller = startStreamController({ nats, log })
  const admin = await serveAdmin({
    host,
    port,
    metrics: createMetrics('stream-controller'),
    ready: async () => ({ stream: controller.ready() }),
    log,
    stopping,
  })
  return [
    { name: 'controller', close: () => controller.close() },
    { name: 'nats', close: () => nats.close() },
    { name: 'admin', close: () => admin.close() },
  ]
})
