// Composes a connector: RPCs for Payweave, webhooks of the provider, workers for what it owes, health and metrics.
import { join } from 'node:path'
import type { ConnectRouter } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import type { Database } from '#platform/db/db.ts'
import { startRetention } from '#platform/events/retention.ts'
import { serveAdmin } from '#platform/process/admin.ts'
import type { Loop } from '#platform/process/loop.ts'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { rpcMetrics } from '#platform/rpc/server/served-call.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { createMetrics, databaseMetrics } from '#platform/telemetry/metrics.ts'
import type { Receiver } from './api/report-messages.ts'
import type { ProviderReport } from './domain/reconcile.ts'
import type { Work } from './domain/work.ts'
import {
  type HintOptions,
  openWebhookPort,
  type WebhookOptions,
  type WebhookPort,
  type WebhookPortOptions,
  webhookKind,
} from './http/webhook-port.ts'
import { webhookMetrics, workMetrics } from './metrics.ts'
import { openReceivers, type Receivers, type ReceiverUrls } from './ports/receivers.ts'
import { countWork, deleteOldWork } from './store/work-store.ts'
import { startWorker } from './workers/worker.ts'

const kitMigrations = ['work', 'payments'].map((folder) =>
  join(import.meta.dirname, 'migrations', folder),
)
const clockMigrations = join(import.meta.dirname, '../../platform/db/migrations/clock')
const receivers = ['payments', 'accounts', 'institution'] as const satisfies Receiver[]

/** Folders for `migrate`, in their order: the kit's tables, then those of the connector, if it has any. */
export function connectorMigrations(own?: string): string[] {
  return [clockMigrations, ...kitMigrations, ...(own === undefined ? [] : [own])]
}

/** Dependencies of the connector's handlers. */
export type ConnectorContext = {
  db: Database
  log: Logger
  /** Reads artefacts of reviews. */
  receivers: Pick<Receivers, 'readArtefact'>
  /** Call it after a commit that has stored work, which then starts at once and not within a second. */
  notify: () => void
}

/** What makes a connector of the kit. */
export type Connector = {
  /** Registers its services of `payweave.backend.v1`. */
  routes: (router: ConnectRouter, context: ConnectorContext) => void
  /** How the provider signs and names its events. */
  webhooks?: WebhookOptions & {
    handle: (work: Work, context: ConnectorContext) => Promise<void>
  }
  /**
   * Where a provider that does not sign its callbacks sends them. What they say proves nothing, so they are not stored:
   * the work about their subject, which enquires, is done at once.
   */
  hints?: HintOptions
  /** Registers pages for payers, such as a card form, on the port of the webhooks. Bodies come to them as bytes. */
  pages?: (app: FastifyInstance, context: ConnectorContext) => Promise<void>
  /** What the provider says has moved; absent where it has no report. */
  report?: ProviderReport
  /** Work of the connector's own, by kind: calls to the provider that must not be lost. */
  workers?: Readonly<Record<string, (work: Work, context: ConnectorContext) => Promise<void>>>
}

export type ConnectorOptions = {
  db: Database
  log: Logger
  /** Signs reports; its trust file says whose calls are served. */
  identity: Identity
  host: string
  /** 0 takes a free port. */
  ports: { rpc: number; webhooks: number; admin: number }
  receiverUrls: ReceiverUrls
}

/** A connector that listens. */
export type RunningConnector = {
  ports: { rpc: number; webhooks: number | undefined; admin: number }
  /** Takes no more calls, lets those in flight end, then stops the workers. What is left is done after the next start. */
  close(): Promise<void>
}

/** Starts everything. Rejects with the system's error when a port cannot be opened; then nothing is left running. */
export async function startConnector(
  connector: Connector,
  options: ConnectorOptions,
): Promise<RunningConnector> {
  const { db, log, identity, host, ports, receiverUrls } = options
  const metrics = createMetrics('connector')
  databaseMetrics(metrics, db)
  const ways = openReceivers(receiverUrls, identity)
  const loops: Loop[] = []
  const notify = () => {
    for (const loop of loops) loop.notify()
  }
  const context: ConnectorContext = { db, log, receivers: ways, notify }
  const handlers = handlersOf(connector, context, ways)
  workMetrics(metrics, () => countWork(db), Object.keys(handlers))
  const count = webhookMetrics(metrics)
  const closing: Array<() => Promise<void>> = [() => ways.close()]
  const close = async () => {
    for (const end of closing.toReversed()) await end()
  }
  try {
    for (const [kind, handle] of Object.entries(handlers)) {
      loops.push(startWorker({ db, log, kind, handle }))
    }
    const retention = startRetention({ db, log, deleteOld: deleteOldWork })
    closing.push(
      async () => void (await Promise.all([...loops, retention].map((one) => one.close()))),
    )
    const stopping = new AbortController()
    const ready = async () => ({ database: await db.ready() })
    const admin = await serveAdmin({
      host,
      port: ports.admin,
      metrics,
      ready,
      log,
      stopping: stopping.signal,
    })
    closing.push(() => admin.close())
    const port = await openPort(connector, context, { host, port: ports.webhooks, count })
    if (port !== undefined) closing.push(() => port.close())
    const server = await serveRpc({
      host,
      port: ports.rpc,
      identity,
      log,
      routes: (router) => connector.routes(router, context),
      metrics: rpcMetrics(metrics),
      ready: () => db.ready(),
    })
    closing.push(() => {
      stopping.abort()
      return server.close()
    })
    return { ports: { rpc: server.port, webhooks: port?.port, admin: admin.port }, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens the port for the provider and for payers; undefined where neither has anything to do there. */
async function openPort(
  { webhooks, hints, pages, workers = {} }: Connector,
  context: ConnectorContext,
  at: Pick<WebhookPortOptions, 'host' | 'port' | 'count'>,
): Promise<WebhookPort | undefined> {
  if (webhooks === undefined && hints === undefined && pages === undefined) return undefined
  return await openWebhookPort({
    ...context,
    ...at,
    webhooks,
    hints,
    hintedKinds: Object.keys(workers),
    ...(pages && { pages: (app) => pages(app, context) }),
  })
}

/** What does the work of each kind. */
function handlersOf({ webhooks, workers }: Connector, context: ConnectorContext, ways: Receivers) {
  const handlers: Record<string, (work: Work) => Promise<void>> = Object.fromEntries(
    receivers.map((receiver) => [`report.${receiver}`, ways.send]),
  )
  if (webhooks !== undefined) handlers[webhookKind] = (work) => webhooks.handle(work, context)
  for (const [kind, handle] of Object.entries(workers ?? {})) {
    handlers[kind] = (work) => handle(work, context)
  }
  return handlers
}
