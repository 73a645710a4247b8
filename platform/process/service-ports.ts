// Serves a service on its two ports and lists what shutdown closes, in order.
import type { Registry } from 'prom-client'
import type { Database } from '../db/db.ts'
import { type ServeRpcOptions, serveRpc } from '../rpc/server/server.ts'
import { rpcMetrics } from '../telemetry/metrics.ts'
import { serveAdmin } from './admin.ts'
import type { Part } from './lifecycle.ts'

/** What a service serves, and what it consists of. */
export type ServiceOptions = Pick<ServeRpcOptions, 'services' | 'routes' | 'identity' | 'log'> & {
  settings: {
    host: string
    port: number
    adminPort: number
    drainS: number
    rpcCallStreams: boolean
  }
  metrics: Registry
  db: Database
  stopping: AbortSignal
  /** What is closed after the RPCs and before the database, in this order. */
  parts: Part[]
}

/**
 * Opens both ports and returns the parts for `runProcess` to close in order: first what accepts work, last the stores
 * and their health. Rejects with the system's error when a port cannot be opened.
 */
export async function serveService(options: ServiceOptions): Promise<Part[]> {
  const { settings, metrics, db, stopping, log, parts } = options
  const { host, port, adminPort, drainS, rpcCallStreams } = settings
  const rpc = await serveRpc({
    host,
    port,
    identity: options.identity,
    drainMs: drainS * 1_000,
    callStreams: rpcCallStreams,
    log,
    metrics: rpcMetrics(metrics),
    services: options.services,
    routes: options.routes,
    ready: () => db.ready(),
  })
  // Only the database counts: while the broker is down a service answers, and its events wait in the outbox.
  const ready = async () => ({ database: await db.ready() })
  const admin = await serveAdmin({ host, port: adminPort, metrics, ready, log, stopping })
  return [
    { name: 'rpc', close: () => rpc.close(), closeWithinMs: rpc.closeWithinMs },
    ...parts,
    { name: 'database', close: () => db.close() },
    { name: 'admin', close: () => admin.close() },
  ]
}
