// Keeps one connection to the broker open, in the background and for ever. It must not know the client library, which
// nats.ts alone imports, nor streams.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors.ts'
import type { Logger } from '#runtime/log.ts'

/** What this file needs of the library's connection. */
export interface Link {
  status(): AsyncIterable<{ type: string }>
  /** Resolves when the library has given the connection up, or was told to. */
  closed(): Promise<unknown>
  isClosed(): boolean
  close(): Promise<void>
  /** Sends what is written and closes. */
  drain(): Promise<void>
  subscribe(
    subject: string,
    options: { callback(error: Error | null, message: { data: Uint8Array }): void },
  ): { unsubscribe(): void }
}

export type ConnectionOptions<L extends Link> = { open: () => Promise<L>; log: Logger }

export interface BrokerConnection<L extends Link = Link> {
  /** True while connected. */
  ready(): boolean
  /** The connection. Throws a Failure while there is none. */
  now(): L
  /** Calls back at every connection, also the present one; returns what ends that. */
  onConnected(listener: () => void): () => void
  /** Plain subscription: only what is published while connected. Returns what ends it. */
  subscribe(subject: string, onPayload: (payload: Uint8Array) => void): () => void
  close(): Promise<void>
}

const reconnectWaitMs = 250

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
    async close() {
      stopping.abort()
      // Draining sends what is written and not yet sent: the last acknowledgements. It would wait for a lost broker.
      if (ready) await current?.drain().catch(() => undefined)
      else await current?.close()
      ready = false
      await running
    },
  }
}

type ConnectionEvents<L extends Link> = {
  /** A new connection object. */
  opened(connection: L): void
  /** Connected, or connected again. */
  up(): void
  down(): void
}

/** Opens a connection, and a new one whenever the client gives up on the last. */
async function connectForEver<L extends Link>(
  options: ConnectionOptions<L>,
  stopping: AbortSignal,
  events: ConnectionEvents<L>,
): Promise<void> {
  let told = false
  while (!stopping.aborted) {
    const connection = await options.open().catch((error: unknown) => {
      if (!told) options.log.warn({ err: error }, 'broker not reachable')
      told = true
      return undefined
    })
    if (connection === undefined) {
      await delay(reconnectWaitMs, undefined, { signal: stopping }).catch(() => undefined)
      continue
    }
    if (stopping.aborted) {
      await connection.close()
      return
    }
    told = false
    events.opened(connection)
    events.up()
    void watch(connection, events)
    await connection.closed()
    if (!stopping.aborted) events.down()
  }
}

async function watch(connection: Link, events: ConnectionEvents<never>): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect') events.down()
    if (status.type === 'reconnect') events.up()
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
