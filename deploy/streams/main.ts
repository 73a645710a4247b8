// Starts the stream controller of an installation: a process that keeps the stream and its consumers at the broker. It has no
// port but the one for operators. In a local start the launcher does this work.
import { serveAdmin } from '#runtime/admin.ts'
import { readSettings } from '#runtime/config.ts'
import { connectNats } from '#runtime/events/nats.ts'
import { natsFrom } from '#runtime/events/nats-access.ts'
import { startStreamController } from '#runtime/events/stream-controller.ts'
import { runProcess } from '#runtime/lifecycle.ts'
import { createMetrics } from '#runtime/metrics.ts'

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
