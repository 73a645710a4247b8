// Keeps one connection to the broker open, in the background and for ever. It must not know streams or consumers.
import { setTimeout as delay } from 'node:timers/promises'
import { connect, Events, type NatsConnection, type Subscription } from 'nats'
import { Failure } from '#core/errors.ts'
import type { Logger } from '#runtime/log.ts'

export type ConnectionOptions = {
  /** One or more URLs, separated by commas; the first one's user and password go for all. */
  url: string
  /** Process name, shown by the broker. */
  name: string
  log: Logger
}

export interface BrokerConnection {
  /** True while connected. */
  ready(): boolean
  /** The connection. Throws a Failure while there is none. */
  now(): NatsConnection
  /** Calls back at every connection, also the present one; returns what ends that. */
  onConnected(listener: () => void): () => void
  /** Plain subscription: only what is published while connected. Returns what ends it. */
  subscribe(subject: string, onPayload: (payload: Uint8Array) => void): () => void
  close(): Promise<void>
}

const reconnectWaitMs = 250

/** Starts connecting; a broker that is down is no error here. */
export function keepConnected(options: ConnectionOptions): BrokerConnection {
  const { log } = options
  const stopping = new AbortController()
  const listeners = new Set<() => void>()
  const subscriptions = new Set<PlainSubscription>()
  let current: NatsConnection | undefined
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

type ConnectionEvents = {
  /** A new connection object. */
  opened(connection: NatsConnection): void
  /** Connected, or connected again. */
  up(): void
  down(): void
}

/** Opens a connection, and a new one whenever the client gives up on the last. */
async function connectForEver(
  options: ConnectionOptions,
  stopping: AbortSignal,
  events: ConnectionEvents,
): Promise<void> {
  let told = false
  while (!stopping.aborted) {
    const connection = await connectOnce(options).catch((error: unknown) => {
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

function connectOnce({ url, name }: ConnectionOptions): Promise<NatsConnection> {
  const addresses = url.split(',').map((address) => new URL(address))
  // The client library ignores the user of a URL.
  const { username = '', password = '' } = addresses[0] ?? {}
  return connect({
    servers: addresses.map(({ protocol, host }) => `${protocol}//${host}`),
    ...(username !== '' && {
      user: decodeURIComponent(username),
      pass: decodeURIComponent(password),
    }),
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectWaitMs,
    reconnectJitter: reconnectWaitMs,
    timeout: 2_000,
    pingInterval: 10_000,
    // A stack trace kept for every publication cost a third of the relay's time.
    noAsyncTraces: true,
    // A rotated password is no reason to give up.
    ignoreAuthErrorAbort: true,
  })
}

async function watch(connection: NatsConnection, events: ConnectionEvents): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === Events.Disconnect) events.down()
    if (status.type === Events.Reconnect) events.up()
  }
}

type PlainSubscription = { start(connection: NatsConnection): void; end(): void }

function plainSubscription(
  subject: string,
  onPayload: (payload: Uint8Array) => void,
): PlainSubscription {
  let subscription: Subscription | undefined
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
