// Runs a service whose domain is not built yet: health, reflection, authentication and metrics, with no RPC of its own.
import { serveAdmin } from './admin.ts'
import { readSettings } from './config.ts'
import { openDatabase } from './db.ts'
import { runProcess } from './lifecycle.ts'
import { createMetrics, databaseMetrics, rpcMetrics } from './metrics.ts'
import { openIdentity } from './rpc/identity.ts'
import { serveRpc } from './rpc/server.ts'

/** Runs the process until it is told to stop. Every call but health and reflection is unimplemented. */
export function runBareService(name: 'institution' | 'quotes' | 'billing'): void {
  runProcess(name, async (stopping, log) => {
    const { host, port, adminPort, secretsDir, databaseUrl } = readSettings(name)
    const metrics = createMetrics(name)
    const identity = openIdentity({ name, dir: secretsDir, log })
    const db = openDatabase({ url: databaseUrl, service: name, log })
    databaseMetrics(metrics, db)
    const rpc = await serveRpc({
      host,
      port,
      identity,
      log,
      metrics: rpcMetrics(metrics),
      services: [],
      routes: () => undefined,
      ready: () => db.ready(),
    })
    const ready = async () => ({ database: await db.ready() })
    const admin = await serveAdmin({ host, port: adminPort, metrics, ready, log, stopping })
    return [
      { name: 'rpc', close: () => rpc.close() },
      { name: 'database', close: () => db.close() },
      { name: 'admin', close: () => admin.close() },
    ]
  })
}
