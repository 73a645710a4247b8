// The broker as events need it: one stream, publications, durable consumers. The only file that imports `nats`; it must
// not know events or tables.
import {
  AckPolicy,
  type ConnectionOptions,
  ConsumerEvents,
  type ConsumerMessages,
  connect,
  credsAuthenticator,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  type NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  usernamePasswordAuthenticator,
} from 'nats'
import { Failure } from '#core/errors.ts'
import type { Logger } from '#runtime/log.ts'
import { credsOf, type NatsAccess, passwordOf } from './nats-access.ts'
import { type Batches, inBatches } from './nats-batches.ts'
import { type BrokerConnection, keepConnected } from './nats-connection.ts'

/** The stream that carries events; `replicas` is 3 in production. */
export type StreamOptions = { name: string; subjects: string[]; replicas: number }

export type NatsOptions = {
  /** One or more URLs, separated by commas; the first one's user and password go for all. */
  url: string
  /** Process name, shown by the broker. */
  name: string
  log: Logger
  access?: NatsAccess
  stream?: Partial<StreamOptions>
}

/** A durable pull consumer of one subject. */
export type DurableOptions = { durable: string; subject: string }

export interface Nats
  extends Pick<BrokerConnection, 'ready' | 'onConnected' | 'subscribe' | 'close'> {
  /** Makes the stream, or brings its settings up to date. */
  ensureStream(): Promise<void>
  /** Resolves when the broker has acknowledged. A missing stream is made again. Throws a Failure. */
  publish(subject: string, payload: Uint8Array, messageId: string): Promise<void>
  /** Publishes to whoever listens at this moment, outside of the stream; lost without a word when that fails. */
  announce(subject: string, payload: Uint8Array): void
  /** Opens a durable consumer, making stream and consumer when missing. Ends when either is lost. */
  openDurable(options: DurableOptions): Promise<Batches>
}

type Broker = BrokerConnection<NatsConnection>

const reconnectWaitMs = 250
const dayMs = 86_400_000
const answerTimeoutMs = 5_000
/** A frozen server is given up after three of them. */
const pingMs = 2_000
/** A cluster that cannot do it now does no better elsewhere. */
const tryAnotherEveryMs = 5_000

/** Connects in the background and for ever; a broker that is down is no error here. */
export function connectNats(options: NatsOptions): Nats {
  const stream = { name: 'PAYWEAVE', subjects: ['pw.>'], replicas: 1, ...options.stream }
  const broker = keepConnected({ open: () => open(options), log: options.log })
  let ensuring: Promise<void> | undefined
  let triedAnotherMs = Number.NEGATIVE_INFINITY

  function ensureStream(): Promise<void> {
    ensuring ??= makeStream(broker, stream)
      .catch(tryAnother)
      .finally(() => {
        ensuring = undefined
      })
    return ensuring
  }

  /** A server that is cut off from its cluster keeps our connection, and can do nothing with the stream. */
  function tryAnother(error: unknown): never {
    const { code, api_error: refusal } = error as NatsError
    const isCutOff = code === noResponder || code === noAnswer || refusal?.code === notNow
    const nowMs = performance.now()
    if (isCutOff && options.url.includes(',') && nowMs - triedAnotherMs > tryAnotherEveryMs) {
      triedAnotherMs = nowMs
      options.log.warn({ err: error }, 'broker left for another of its servers')
      if (broker.ready()) void broker.now().reconnect()
    }
    throw error
  }

  async function publish(subject: string, payload: Uint8Array, messageId: string): Promise<void> {
    await jetStreamOf(broker.now()).publish(subject, payload, { msgID: messageId })
  }

  return {
    ready: () => broker.ready(),
    onConnected: (listener) => broker.onConnected(listener),
    subscribe: (subject, onPayload) => broker.subscribe(subject, onPayload),
    close: () => broker.close(),
    ensureStream: () => ensureStream().catch(refuse),
    publish: (subject, payload, messageId) =>
      publish(subject, payload, messageId)
        .catch(async (error: unknown) => {
          const { code } = error as NatsError
          if (code !== noResponder && code !== noAnswer) throw error
          await ensureStream()
          // Without an answer the message may be there: that is for the caller to find out.
          if (code === noAnswer) throw error
          await publish(subject, payload, messageId)
        })
        .catch(refuse),
    announce(subject, payload) {
      try {
        broker.now().publish(subject, payload)
      } catch {
        // Not connected, or not any more.
      }
    },
    async openDurable(durable) {
      try {
        await ensureStream()
        await makeConsumer(await manager(broker), stream.name, durable)
        return await openBatches(broker.now(), stream.name, durable.durable)
      } catch (error) {
        return refuse(error)
      }
    },
  }
}

function open(options: NatsOptions): Promise<NatsConnection> {
  const { url, name, access } = options
  const addresses = url.split(',').map((address) => new URL(address))
  const isSecured = addresses.some(({ protocol }) => protocol === 'tls:')
  const { caFile } = access ?? {}
  return connect({
    servers: addresses.map(({ protocol, host }) => `${protocol}//${host}`),
    ...proofOf(options, addresses[0]),
    ...((isSecured || caFile !== undefined) && { tls: caFile === undefined ? {} : { caFile } }),
    // Answers go to a place of our own, which no other user of the broker may read.
    inboxPrefix: `_INBOX_${name}`,
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectWaitMs,
    reconnectJitter: reconnectWaitMs,
    timeout: 2_000,
    pingInterval: pingMs,
    maxPingOut: 2,
    // A stack trace kept for every publication cost a third of the relay's time.
    noAsyncTraces: true,
    // A rotated password is no reason to give up.
    ignoreAuthErrorAbort: true,
  })
}

/** Who we are to the broker. The client library ignores the user of a URL. */
function proofOf(
  { name, access }: NatsOptions,
  first: URL | undefined,
): Partial<ConnectionOptions> {
  const { credsFile, passwordFile } = access ?? {}
  const user = decodeURIComponent(first?.username ?? '')
  if (credsFile !== undefined)
    return { authenticator: credsAuthenticator(() => credsOf(credsFile)) }
  if (passwordFile !== undefined) {
    const password = () => passwordOf(passwordFile)
    return { authenticator: usernamePasswordAuthenticator(user === '' ? name : user, password) }
  }
  return user === '' ? {} : { user, pass: decodeURIComponent(first?.password ?? '') }
}

/** Making one costs more than a publication. */
const jetStreams = new WeakMap<NatsConnection, JetStreamClient>()

function jetStreamOf(connection: NatsConnection): JetStreamClient {
  const known = jetStreams.get(connection)
  if (known !== undefined) return known
  const jetStream = connection.jetstream({ timeout: answerTimeoutMs })
  jetStreams.set(connection, jetStream)
  return jetStream
}

function manager(broker: Broker): Promise<JetStreamManager> {
  // The library's check would ask for account facts that a narrow user may not have.
  return broker.now().jetstreamManager({ checkAPI: false, timeout: answerTimeoutMs })
}

async function makeStream(broker: Broker, options: StreamOptions): Promise<void> {
  const { streams } = await manager(broker)
  const wanted = {
    name: options.name,
    subjects: options.subjects,
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_age: nanos(7 * dayMs),
    duplicate_window: nanos(120_000),
    num_replicas: options.replicas,
  }
  try {
    // Changes nothing when the stream is there with these settings.
    await streams.add(wanted)
  } catch (error) {
    if ((error as NatsError).api_error?.err_code !== streamNameInUse) throw error
    await streams.update(options.name, wanted)
  }
}

/** The broker's code for a stream that is there with other settings. */
const streamNameInUse = 10_058

async function makeConsumer(
  jsm: JetStreamManager,
  stream: string,
  { durable, subject }: DurableOptions,
): Promise<void> {
  await jsm.consumers.add(stream, {
    durable_name: durable,
    filter_subject: subject,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(30_000),
    max_ack_pending: 2_000,
    max_deliver: -1,
  })
}

/** How many messages may wait here for their batch. */
const prefetch = 400
const pullMs = 6_000
/** A lost consumer that says nothing is noticed after two heartbeats. */
const heartbeatMs = 1_500

async function openBatches(
  connection: NatsConnection,
  stream: string,
  durable: string,
): Promise<Batches> {
  const consumer = await jetStreamOf(connection).consumers.get(stream, durable)
  const messages = await consumer.consume({
    max_messages: prefetch,
    expires: pullMs,
    idle_heartbeat: heartbeatMs,
    abort_on_missing_resource: true,
  })
  void connection.closed().then(() => messages.stop())
  void stopWhenSilent(messages)
  return inBatches(messages)
}

/** Opened anew, it may be reached through another server. */
async function stopWhenSilent(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of await messages.status()) {
    if (type === ConsumerEvents.HeartbeatsMissed) messages.stop()
  }
}

/** The stream is gone, or JetStream is not up yet. */
const noResponder = '503'
/** The stream may be gone too, when a plain subscription keeps the broker from saying so. */
const noAnswer = 'TIMEOUT'
/** What a server says that hears nothing of the others. */
const notNow = 503

function refuse(error: unknown): never {
  if (error instanceof Failure) throw error
  const { code } = error as NatsError
  const reason = typeof code === 'string' ? code : 'unknown'
  throw new Failure('SERVICE_UNAVAILABLE', `the broker refused: ${reason}`, { cause: error })
}
