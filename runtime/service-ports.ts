// Puts a service on its two ports and lists what a stop closes, in order; it must not know what is served.
import type { Registry } from 'prom-client'
import { serveAdmin } from './admin.ts'
import type { Database } from './db.ts'
import type { Part } from './lifecycle.ts'
import { rpcMetrics } from './metrics.ts'
import { type ServeRpcOptions, serveRpc } from './rpc/server.ts'

/** What a service serves, and what it consists of. */
export type ServiceOptions = Pick<ServeRpcOptions, 'services' | 'routes' | 'identity' | 'log'> & {
  settings: { host: string; port: number; adminPort: number; drainS: number; rpcLinks: boolean }
  metrics: Registry
  db: Database
  stopping: AbortSignal
  /** What is closed after the RPCs and before the database, in this order. */
  parts: Part[]
}

/** Listens; answers the parts for `runProcess`: first what takes work in, last the stores and what tells of them. */
export async function serveService(options: ServiceOptions): Promise<Part[]> {
  const { settings, metrics, db, stopping, log, parts } = options
  const { host, port, adminPort, drainS, rpcLinks } = settings
  const rpc = await serveRpc({
    host,
    port,
    identity: options.identity,
    drainMs: drainS * 1_000,
    links: rpcLinks,
    log,
    metrics: rpcMetrics(metrics),
    services: options.services,
    routes: options.routes,
    ready: () => db.ready(),
  })
  // The database alone: with the broker down a service answers, and its events wait.
  const ready = async () => ({ database: await db.ready() })
  const admin = await serveAdmin({ host, port: adminPort, metrics, ready, log, stopping })
  return [
    { name: 'rpc', close: () => rpc.close(), closeWithinMs: rpc.closeWithinMs },
    ...parts,
    { name: 'database', close: () => db.close() },
    { name: 'admin', close: () => admin.close() },
  ]
}
