// Keeps one connection to the broker open, in the background and for ever. Does not import the client library.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import { errorKey, type Logger } from '#platform/telemetry/log.ts'

/** The part of the library's connection that this file uses. It must not reconnect by itself. */
export interface Link {
  /** Events of the connection, such as `staleConnection`. */
  status(): AsyncIterable<{ type: string }>
  /** Host and port of the server. */
  getServer(): string
  /** Resolves when the connection is lost, or was closed. */
  closed(): Promise<unknown>
  /** Whether the connection was lost or closed. */
  isClosed(): boolean
  /** Closes at once; pending requests are rejected. */
  close(): Promise<void>
  /** Sends what is written, then closes. */
  drain(): Promise<void>
  /** Subscribes; the callback gets each message. */
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
  /** The connection. Throws SERVICE_UNAVAILABLE while there is none. */
  now(): L
  /** Calls `listener` at every connection, at once if there is one; returns a function that ends that. */
  onConnected(listener: () => void): () => void
  /** Plain subscription: only messages that are published while connected. Returns a function that ends it. */
  subscribe(subject: string, onPayload: (payload: Uint8Array) => void): () => void
  /** Closes this connection, so that the next goes to another server, if it is still the one in use. */
  leave(link: L): void
  /** Flushes for up to 2 s, closes and stops reconnecting. */
  close(): Promise<void>
}

const reconnectWaitMs = 250
/** After a connection that lasted less than this there is a pause before the next. */
const briefMs = 1_000
const drainMs = 2_000

/**
 * Starts connecting, and connects again whenever the connection is lost. A broker that is down is logged, not thrown.
 */
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
      // Draining sends the last acknowledgements. It would wait for a silent broker for ever, so it has a time limit.
      if (ready && current !== undefined) {
        // The timer is not unreferenced: otherwise a process with nothing else to do would exit during the drain.
        const drained = new AbortController()
        const timeout = delay(drainMs, undefined, { signal: drained.signal }).catch(() => undefined)
        await Promise.race([current.drain().catch(() => undefined), timeout])
        drained.abort()
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
 * Opens a connection, and a new one whenever the last is lost. The library's own reconnecting is not used: it first
 * tries the server that was lost, leaves requests waiting for answers that cannot come, and never gives up a frozen
 * server while the socket's buffer is full.
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

/** Logs at `error` what only an operator can correct, such as a server of too old a version. */
function logFailure(log: Logger, error: unknown): void {
  if (error instanceof Failure) log.error({ err: error }, 'broker not usable')
  else log.warn({ err: error }, 'broker not reachable')
}

/**
 * Closes at once when pings stay unanswered: the library would first try to send what is written, to a frozen server.
 */
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
