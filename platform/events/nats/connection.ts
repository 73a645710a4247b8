// Keeps one connection to the broker open, in the background and for ever, and publishes over it: waits for the broker's
// acknowledgements, all over one subscription. Does not import the client library, whose own publication makes a request, a timer
// of promises and an error with a stack for each message.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import { errorKey, type Logger } from '#platform/telemetry/log.ts'

/** The part of the library's connection that this file uses. It must not reconnect by itself. */
export interface Connection {
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

export type ConnectionOptions<C extends Connection> = {
  /** Connects. `leftMs`: when each server was last lost or left, by the clock of `performance`. */
  open: (leftMs: ReadonlyMap<string, number>) => Promise<C>
  log: Logger
}

export interface BrokerConnection<C extends Connection = Connection> {
  /** True while connected. */
  ready(): boolean
  /** The connection. Throws SERVICE_UNAVAILABLE while there is none. */
  now(): C
  /** Calls `listener` at every connection, at once if there is one; returns a function that ends that. */
  onConnected(listener: () => void): () => void
  /** Plain subscription: only messages that are published while connected. Returns a function that ends it. */
  subscribe(subject: string, onPayload: (payload: Uint8Array) => void): () => void
  /** Closes this connection, so that the next goes to another server, if it is still the one in use. */
  leave(connection: C): void
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
export function keepConnected<C extends Connection>(
  options: ConnectionOptions<C>,
): BrokerConnection<C> {
  const { log } = options
  const stopping = new AbortController()
  const listeners = new Set<() => void>()
  const subscriptions = new Set<PlainSubscription>()
  let current: C | undefined
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
    leave(connection) {
      if (connection === current && !connection.isClosed()) void connection.close()
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

type ConnectionEvents<C extends Connection> = {
  /** A new connection object. */
  opened(connection: C): void
  up(): void
  down(): void
}

/**
 * Opens a connection, and a new one whenever the last is lost. The library's own reconnecting is not used: it first
 * tries the server that was lost, leaves requests waiting for answers that cannot come, and never gives up a frozen
 * server while the socket's buffer is full.
 */
async function connectForEver<C extends Connection>(
  options: ConnectionOptions<C>,
  stopping: AbortSignal,
  events: ConnectionEvents<C>,
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
async function closeWhenSilent(connection: Connection): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === 'staleConnection') void connection.close()
  }
}

type PlainSubscription = { start(connection: Connection): void; end(): void }

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

type ReplyMessage = { subject: string; data: Uint8Array; headers?: { code: number } | undefined }

/** The library's connection, as far as this file needs it. */
export interface PublishingConnection<H> {
  /** Throws when the connection is closed or the message is too large. */
  publish(subject: string, payload: Uint8Array, options: { reply: string; headers: H }): void
  /** Calls back for each message of a subject while connected. */
  subscribe(
    subject: string,
    options: { callback(error: Error | null, message: ReplyMessage): void },
  ): unknown
  /** Resolves when the connection is lost, or was closed. */
  closed(): Promise<unknown>
}

/** The broker's answer to a publication, as far as we read it: the place in the stream, or why there is none. */
type PubAck = { stream?: string; error?: { code: number } }

/** No acknowledgement: `code` is the broker's, `noAnswer`, `CONNECTION_CLOSED` or `INVALID_ACK`. */
class Unacknowledged extends Error {
  readonly code: string

  constructor(code: string) {
    super(`the publication was not acknowledged: ${code}`)
    this.code = code
  }
}

/** No acknowledgement came in time; the message may be in the stream all the same. */
export const noAnswer = 'TIMEOUT'
const connectionClosed = 'CONNECTION_CLOSED'
const malformed = 'INVALID_ACK'

/**
 * Publishes; resolves once the message is in the stream. Rejects with `Unacknowledged`, or with the library's error
 * when the connection is closed or the message is too large.
 */
export type PublishAcknowledged<H> = (
  subject: string,
  payload: Uint8Array,
  headers: H,
) => Promise<void>

/** Makes the publisher of a connection. Replies come below `inbox`, which no other publisher may share. */
export function acknowledgedBy<H>(
  connection: PublishingConnection<H>,
  inbox: string,
  timeoutMs: number,
): PublishAcknowledged<H> {
  const waiting = new Map<string, (failure: Unacknowledged | undefined) => void>()
  let count = 0

  connection.subscribe(`${inbox}.*`, {
    callback(_, answer) {
      waiting.get(answer.subject)?.(failureOf(answer))
    },
  })
  void giveUpWhenClosed()

  async function giveUpWhenClosed(): Promise<void> {
    await connection.closed()
    for (const settle of waiting.values()) settle(new Unacknowledged(connectionClosed))
  }

  return (subject, payload, headers) =>
    new Promise((resolve, reject) => {
      count += 1
      const reply = `${inbox}.${count.toString(36)}`
      // Throws, and with it rejects, when the connection is closed or the message too large.
      connection.publish(subject, payload, { reply, headers })
      const timer = setTimeout(() => settle(new Unacknowledged(noAnswer)), timeoutMs)
      function settle(failure: Unacknowledged | undefined): void {
        waiting.delete(reply)
        clearTimeout(timer)
        if (failure === undefined) resolve()
        else reject(failure)
      }
      waiting.set(reply, settle)
    })
}

function failureOf({ data, headers }: ReplyMessage): Unacknowledged | undefined {
  // A status without a body means "no responders": no stream has the subject, or none just now.
  if (headers !== undefined && headers.code >= 400) return new Unacknowledged(String(headers.code))
  const { stream, error } = parsed(data)
  if (error !== undefined) return new Unacknowledged(String(error.code))
  return stream === undefined || stream === '' ? new Unacknowledged(malformed) : undefined
}

function parsed(data: Uint8Array): PubAck {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString())
  } catch {
    return {}
  }
}
