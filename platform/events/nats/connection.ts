// Keeps one connection to the broker open, in the background and for ever. Does not import the client library.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import { errorKey, type Logger } from '#platform/telemetry/log.ts'

/** What this file needs of the library's connection, which must not reconnect by itself. */
export interface Link {
  status(): AsyncIterable<{ type: string }>
  /** Host and port of the server. */
  getServer(): string
  /** Resolves when the connection is lost, or was closed. */
  closed(): Promise<unknown>
  isClosed(): boolean
  /** Closes at once; pending requests are rejected. */
  close(): Promise<void>
  /** Sends what is written and closes. */
  drain(): Promise<void>
  subscribe(
    subject: string,
    options: { callback(error: Error | null, message: { data: Uint8Array }): void },
  ): { unsubscribe(): void }
}

export type ConnectionOptions<L extends Link> = {
  /** Connects. `leftMs`: when each server was last lost or left, by the clock of `performance`. */
  open: (leftMs: ReadonlyMap<string, number>) => Promise<L>
  log: Logger
}

export interface BrokerConnection<L extends Link = Link> {
  /** True while connected. */
  ready(): boolean
  /** The connection. Throws a Failure while there is none. */
  now(): L
  /** Calls back at every connection, also the present one; returns what ends that. */
  onConnected(listener: () => void): () => void
  /** Plain subscription: only what is published while connected. Returns what ends it. */
  subscribe(subject: string, onPayload: (payload: Uint8Array) => void): () => void
  /** Goes to another server, if this connection is still the one in use. */
  leave(link: L): void
  close(): Promise<void>
}

const reconnectWaitMs = 250
/** A connection that was lost sooner is not replaced at once. */
const briefMs = 1_000
const drainMs = 2_000

/** Starts connecting; a broker that is down is no error here. */
export function keepConnected<L extends Link>(options: ConnectionOptions<L>): BrokerConnection<L> {
  const { log } = options
  const stopping = new AbortController()
  const listeners = new Set<() => void>()
  const subscriptions = new Set<PlainSubscription>()
  let current: L | undefined
  let ready = false

  const running = connectForEver(options, stopping.signal, {
    opened(connection) {
      current = connection
      for (const subscription of subscriptions) subscription.start(connection)
    },
    up() {
      log.info('broker connected')
      ready = true
      for (const listener of listeners) listener()
    },
    down() {
      if (ready) log.warn('broker connection lost')
      ready = false
    },
  })

  return {
    ready: () => ready,
    now() {
      if (current === undefined || !ready) {
        throw new Failure('SERVICE_UNAVAILABLE', 'the broker is not connected')
      }
      return current
    },
    onConnected(listener) {
      listeners.add(listener)
      if (ready) listener()
      return () => listeners.delete(listener)
    },
    subscribe(subject, onPayload) {
      const subscription = plainSubscription(subject, onPayload)
      subscriptions.add(subscription)
      if (current?.isClosed() === false) subscription.start(current)
      return () => {
        subscriptions.delete(subscription)
        subscription.end()
      }
    },
    leave(link) {
      if (link === current && !link.isClosed()) void link.close()
    },
    async close() {
      stopping.abort()
      // Draining sends what is written and not yet sent: the last acknowledgements. It would wait for a silent broker.
      if (ready && current !== undefined) {
        // The timer holds the process: else one that has nothing else to do would end in the middle of this.
        const late = new AbortController()
        const patience = delay(drainMs, undefined, { signal: late.signal }).catch(() => undefined)
        await Promise.race([current.drain().catch(() => undefined), patience])
        late.abort()
      }
      await current?.close()
      ready = false
      await running
    },
  }
}

type ConnectionEvents<L extends Link> = {
  /** A new connection object. */
  opened(connection: L): void
  up(): void
  down(): void
}

/**
 * Opens a connection, and a new one whenever the last is lost. The library's own reconnecting is not used: it first goes
 * back to the very server that was lost, lets requests wait for answers that cannot come any more, and never leaves a
 * frozen server that owes us the reading of more than the sockets hold.
 */
async function connectForEver<L extends Link>(
  options: ConnectionOptions<L>,
  stopping: AbortSignal,
  events: ConnectionEvents<L>,
): Promise<void> {
  const pause = () =>
    delay(reconnectWaitMs * (1 + Math.random()), undefined, { signal: stopping }).catch(() => {})
  const logged = new Set<string>()
  const leftMs = new Map<string, number>()
  while (!stopping.aborted) {
    const connection = await options.open(leftMs).catch((error: unknown) => {
      const key = errorKey(error)
      if (!logged.has(key)) logFailure(options.log, error)
      logged.add(key)
      return undefined
    })
    if (connection === undefined) {
      await pause()
      continue
    }
    if (stopping.aborted) {
      await connection.close()
      return
    }
    logged.clear()
    const openedMs = performance.now()
    events.opened(connection)
    events.up()
    void closeWhenSilent(connection)
    await connection.closed()
    if (stopping.aborted) return
    events.down()
    leftMs.set(connection.getServer(), performance.now())
    if (performance.now() - openedMs < briefMs) await pause()
  }
}

/** A server that was reached and may not be used, such as one of too old a version, stays so until somebody acts. */
function logFailure(log: Logger, error: unknown): void {
  if (error instanceof Failure) log.error({ err: error }, 'broker not usable')
  else log.warn({ err: error }, 'broker not reachable')
}

/** The library would first wait until all that is written is sent, and a frozen server takes nothing. */
async function closeWhenSilent(connection: Link): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === 'staleConnection') void connection.close()
  }
}

type PlainSubscription = { start(connection: Link): void; end(): void }

function plainSubscription(
  subject: string,
  onPayload: (payload: Uint8Array) => void,
): PlainSubscription {
  let subscription: { unsubscribe(): void } | undefined
  return {
    start(connection) {
      subscription = connection.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) onPayload(message.data)
        },
      })
    },
    end: () => subscription?.unsubscribe(),
  }
}
