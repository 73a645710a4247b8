// Runs a service as a process: its settings, identity, database, broker and the processes that it calls; then its two ports.
import type { ConnectRouter } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import { ClockService } from '#gen/payweave/clock/v1/clock_pb.js'
import { type ClockOptions, checkClock, clockService } from '../clock/clock-service.ts'
import type { Database } from '../db/db.ts'
import { openServiceDatabase, type ServiceDatabaseOptions } from '../db/service-database.ts'
import { type NatsSettings, natsFrom } from '../events/nats/access.ts'
import { connectNats, type Nats } from '../events/nats/nats.ts'
import { jetStreamMetric } from '../events/stream-health.ts'
import { type IdentitySettings, processIdentity } from '../rpc/auth/process-identity.ts'
import { openPeer, type Peer } from '../rpc/client/client.ts'
import { rpcMetrics } from '../rpc/server/served-call.ts'
import { type ServeRpcOptions, serveRpc } from '../rpc/server/server.ts'
import type { Logger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { serveAdmin } from './admin.ts'
import { type Part, runProcess } from './lifecycle.ts'

type ServiceName = 'accounts' | 'billing' | 'delivery' | 'institution' | 'payments' | 'quotes'

/** The settings that each service has. */
type ServiceSettings = IdentitySettings &
  ServiceDatabaseOptions['settings'] & {
    port: number
    drainS: number
    rpcCallStreams: boolean
    /** Only of services that go by business time. */
    sandboxClock?: boolean
  }

/** What a service is made from. */
export type ServiceBase<S extends ServiceSettings> = {
  settings: S
  metrics: Registry
  db: Database
  log: Logger
  /** Aborts when the process is to stop. */
  stopping: AbortSignal
  /** Opens the clients of a process that the service calls; they are closed together after the service's own parts. */
  peer: (name: string, url: string) => Peer
  /** Connects to the broker; the connection is closed after all peers. */
  broker: (settings: NatsSettings) => Nats
}

/** What a service serves, and what it consists of. */
export type Service = {
  /** Registers the handlers; called once. */
  routes: (router: ConnectRouter) => void
  /** What is closed after the RPCs and before peers, broker and database, in this order. */
  parts: readonly Part[]
  /** What else has to be done when the test clock of a sandbox moves. */
  onClockMoved?: ClockOptions['onMoved']
  healthApart?: ServeRpcOptions['healthApart']
}

/**
 * Runs a service until it is stopped. `make` starts what works in it; the ports are opened after that. What it throws,
 * a bad setting, or a port that cannot be opened ends the process with exit code 1.
 */
export function runService<S extends ServiceSettings>(
  name: ServiceName,
  readSettings: () => S,
  make: (base: ServiceBase<S>) => Service | Promise<Service>,
): void {
  runProcess(name, async (stopping, log) => {
    const settings = readSettings()
    const metrics = createMetrics(name)
    const identity = processIdentity(name, settings, log)
    const db = await openServiceDatabase({ service: name, settings, metrics, log, stopping })
    const { host, port, adminPort, drainS, rpcCallStreams, sandboxClock } = settings
    if (sandboxClock !== undefined) await checkClock({ db, isMovable: sandboxClock })
    const peers: Part[] = []
    const brokers: Part[] = []
    const service = await make({
      settings,
      metrics,
      db,
      log,
      stopping,
      peer(peerName, url) {
        const peer = openPeer(peerName, url, identity)
        peers.push(peer)
        return peer
      },
      broker(access) {
        const nats = connectNats({ ...natsFrom(access), name, log })
        jetStreamMetric(metrics, nats)
        brokers.push({ name: 'nats', close: () => nats.close() })
        return nats
      },
    })
    const rpc = await serveRpc({
      host,
      port,
      identity,
      drainMs: drainS * 1_000,
      callStreams: rpcCallStreams,
      log,
      metrics: rpcMetrics(metrics),
      routes: (router) => {
        service.routes(router)
        if (sandboxClock === undefined) return
        const clock = { db, isMovable: sandboxClock, onMoved: service.onClockMoved }
        router.service(ClockService, clockService(clock))
      },
      ready: () => db.ready(),
      ...(service.healthApart && { healthApart: service.healthApart }),
    })
    // Only the database counts: while the broker is down a service answers, and its events wait in the outbox.
    const ready = async () => ({ database: await db.ready() })
    const admin = await serveAdmin({ host, port: adminPort, metrics, ready, log, stopping })
    return [
      { name: 'rpc', close: () => rpc.close(), closeWithinMs: rpc.closeWithinMs },
      ...service.parts,
      peers,
      ...brokers,
      { name: 'database', close: () => db.close() },
      { name: 'admin', close: () => admin.close() },
    ]
  })
}
