// The client of the broker: one stream, publications, durable consumers.
import {
  AckPolicy,
  type Consumer,
  ConsumerEvents,
  type ConsumerInfo,
  type ConsumerMessages,
  createInbox,
  DeliverPolicy,
  DiscardPolicy,
  headers,
  type JetStreamClient,
  type JetStreamManager,
  type MsgHdrs,
  type NatsConnection,
  type NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
} from 'nats'
import { Failure } from '#core/errors/errors.ts'
import { type DurableOptions, eventStream, type StreamOptions } from '../topology.ts'
import { type Batches, inBatches } from './batches.ts'
import {
  acknowledgedBy,
  type BrokerConnection,
  keepConnected,
  noAnswer,
  type PublishAcknowledged,
} from './connection.ts'
import { inboxPrefixOf, type NatsOptions, open } from './open.ts'
import { type ServerSwitch, serverSwitch } from './servers.ts'
import { type Changed, ensure } from './streams.ts'

export type { NatsOptions }

export interface Nats
  extends Pick<BrokerConnection, 'ready' | 'onConnected' | 'subscribe' | 'close'> {
  /**
   * Makes the stream and these consumers, or corrects their settings; returns what it changed. Only the stream
   * controller's user may do this. Rejects with SERVICE_UNAVAILABLE.
   */
  ensureStream(consumers?: readonly DurableOptions[]): Promise<Changed>
  /**
   * Asks JetStream for the stream: a server may accept connections and yet serve no JetStream, or have lost the stream.
   * Rejects with SERVICE_UNAVAILABLE when there is no answer within 1.5 s, no stream or no connection.
   */
  checkStream(): Promise<void>
  /**
   * Resolves when the broker has acknowledged. `messageId` deduplicates within two minutes. Rejects with
   * SERVICE_UNAVAILABLE, also while there is no stream; the message may then have been stored all the same.
   */
  publish(subject: string, payload: Uint8Array, messageId: string): Promise<void>
  /**
   * Publishes to the current subscribers, outside of the stream. Never throws: a failure loses the message silently.
   */
  announce(subject: string, payload: Uint8Array): void
  /**
   * Opens a durable consumer, which must exist. The batches end when it or the stream is lost. Rejects with
   * SERVICE_UNAVAILABLE.
   */
  openDurable(options: DurableOptions): Promise<Batches>
}

const dayMs = 86_400_000
/**
 * Messages that are published while the cluster elects a leader are lost without an error, so a short time-out repeats
 * them sooner. The message id makes a repetition harmless when the acknowledgement was only late.
 */
const publishTimeoutMs = 2_500
const answerTimeoutMs = 3_000
/**
 * Time-out of look-ups of the stream or a consumer. Such requests are lost while there is no leader. Shorter than the time-out
 * of a process's health checks.
 */
const lookTimeoutMs = 1_500

/** Connects in the background and reconnects for ever; a broker that is down is logged, not thrown. */
export function connectNats(options: NatsOptions): Nats {
  const broker = keepConnected({ open: (leftMs) => open(options, leftMs), log: options.log })
  const servers = serverSwitch(broker, options)
  const stream = keepStream(broker, servers, options)
  const publish = publisher(broker, servers, stream, options.name)
  return {
    ready: () => broker.ready(),
    onConnected: (listener) => broker.onConnected(listener),
    subscribe: (subject, onPayload) => broker.subscribe(subject, onPayload),
    close: () => broker.close(),
    ensureStream: (consumers = []) => stream.ensure(consumers).catch(refuse),
    checkStream: () => checkStream(broker, stream.name).catch(refuse),
    publish: (subject, payload, messageId) =>
      publish(subject, payload, messageId)
        .catch(async (error: unknown) => {
          if ((error as NatsError).code !== unavailable) throw error
          await stream.find()
          await publish(subject, payload, messageId)
        })
        .catch(refuse),
    announce(subject, payload) {
      try {
        broker.now().publish(subject, payload)
      } catch {
        // Not connected: announcements may be lost, so there is nothing to do.
      }
    },
    async openDurable({ durable }) {
      try {
        const connection = broker.now()
        return await jetStreamOf(connection)
          .consumers.get(stream.name, durable)
          .then((consumer) =>
            openBatches(connection, consumer, () => servers.asRefusing(connection)),
          )
          .catch((error: unknown) => leaveFor(servers, connection, error))
      } catch (error) {
        return refuse(error)
      }
    },
  }
}

/**
 * Connects once, makes the stream and these consumers, and disconnects. Returns the version of the server. Rejects with
 * an error whose `code` is the client library's (why there is no connection, or why the broker refused), with
 * SERVICE_UNAVAILABLE when the server is older than the minimum version, or with a ConfigurationError for an unreadable
 * file.
 */
export async function ensureOnce(
  options: NatsOptions,
  consumers: readonly DurableOptions[],
): Promise<string | undefined> {
  const connection = await open(options, new Map())
  try {
    const stream = streamSettings({ ...eventStream, ...options.stream })
    await ensure(
      await manager(connection, answerTimeoutMs),
      stream,
      consumers.map(consumerSettings),
    )
    return connection.info?.version
  } finally {
    await connection.close()
  }
}

type Broker = BrokerConnection<NatsConnection>
type Servers = ServerSwitch<NatsConnection>

function leaveFor(servers: Servers, connection: NatsConnection, error: unknown): never {
  const { code } = error as NatsError
  if (code === unavailable) servers.asRefusing(connection)
  if (code === noAnswer) servers.asSilent(connection)
  throw error
}

type Stream = {
  name: string
  /** Looks the stream up at the connected server, and leaves a server that cannot answer. Single flight. */
  find(): Promise<void>
  /** When the broker last said that the stream is there, by the clock of `performance`. */
  foundMs(): number
  ensure(consumers: readonly DurableOptions[]): Promise<Changed>
}

function keepStream(broker: Broker, servers: Servers, options: NatsOptions): Stream {
  const stream = { ...eventStream, ...options.stream }
  let finding: Promise<void> | undefined
  let foundMs = Number.NEGATIVE_INFINITY

  async function managed<T>(
    timeoutMs: number,
    work: (manager: JetStreamManager) => Promise<T>,
  ): Promise<T> {
    const connection = broker.now()
    const done = await manager(connection, timeoutMs)
      .then(work)
      .catch((error: unknown) => leaveFor(servers, connection, error))
    foundMs = performance.now()
    return done
  }

  return {
    name: stream.name,
    find() {
      finding ??= managed(lookTimeoutMs, async ({ streams }) => {
        await streams.info(stream.name)
      }).finally(() => {
        finding = undefined
      })
      return finding
    },
    foundMs: () => foundMs,
    ensure: (consumers) =>
      managed(answerTimeoutMs, (manager) =>
        ensure(manager, streamSettings(stream), consumers.map(consumerSettings)),
      ),
  }
}

async function checkStream(broker: Broker, name: string): Promise<void> {
  const { streams } = await manager(broker.now(), lookTimeoutMs)
  await streams.info(name)
}

type Publish = (subject: string, payload: Uint8Array, messageId: string) => Promise<void>

/** The broker drops messages whose id it has stored within its duplicate window. */
const messageIdHeader = 'Nats-Msg-Id'

function publisher(broker: Broker, servers: Servers, stream: Stream, name: string): Publish {
  let acknowledgedMs = Number.NEGATIVE_INFINITY
  return async (subject, payload, messageId) => {
    const connection = broker.now()
    const publish = publisherOf(connection, name)
    const header = headers()
    header.set(messageIdHeader, messageId)
    const sentMs = performance.now()
    try {
      await publish(subject, payload, header)
      acknowledgedMs = performance.now()
    } catch (error) {
      if ((error as NatsError).code !== noAnswer) throw error
      // The message may have been stored. The caller publishes it again with its id; here the stream is only looked up.
      if (stream.foundMs() < sentMs) void stream.find().catch(() => undefined)
      // A leader that is cut off from its cluster still answers for the stream, so silence to publications decides.
      if (acknowledgedMs < sentMs) servers.asSilent(connection)
      throw error
    }
  }
}

const publishers = new WeakMap<NatsConnection, PublishAcknowledged<MsgHdrs>>()

function publisherOf(connection: NatsConnection, name: string): PublishAcknowledged<MsgHdrs> {
  let publish = publishers.get(connection)
  if (publish === undefined) {
    publish = acknowledgedBy(connection, createInbox(inboxPrefixOf(name)), publishTimeoutMs)
    publishers.set(connection, publish)
  }
  return publish
}

/** Cached because making a JetStream client costs more than a publication. */
const jetStreams = new WeakMap<NatsConnection, JetStreamClient>()

function jetStreamOf(connection: NatsConnection): JetStreamClient {
  const known = jetStreams.get(connection)
  if (known !== undefined) return known
  const jetStream = connection.jetstream({ timeout: lookTimeoutMs })
  jetStreams.set(connection, jetStream)
  return jetStream
}

function manager(connection: NatsConnection, timeout: number): Promise<JetStreamManager> {
  // Without the library's check, which reads facts of the account that our users have no permission for.
  return connection.jetstreamManager({ checkAPI: false, timeout })
}

/** Names all limits, so that one that was set by hand is corrected. */
function streamSettings({ name, subjects, replicas }: StreamOptions) {
  return {
    name,
    subjects,
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_age: nanos(7 * dayMs),
    max_msgs: -1,
    max_bytes: -1,
    max_msgs_per_subject: -1,
    duplicate_window: nanos(120_000),
    num_replicas: replicas,
  }
}

function consumerSettings({ durable, subject }: DurableOptions) {
  return {
    durable_name: durable,
    filter_subject: subject,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(30_000),
    max_ack_pending: 2_000,
    max_deliver: -1,
  }
}

/** Maximum messages that wait in memory for their batch. */
const prefetch = 400
const pullMs = 6_000
/** Interval of heartbeats; a consumer that misses two of them is lost. */
const heartbeatMs = 1_500

async function openBatches(
  connection: NatsConnection,
  consumer: Consumer,
  onCutOff: () => void,
): Promise<Batches> {
  requireLeader(await consumer.info(true))
  const messages = await consumer.consume({
    max_messages: prefetch,
    expires: pullMs,
    idle_heartbeat: heartbeatMs,
    abort_on_missing_resource: true,
  })
  void connection.closed().then(() => messages.stop())
  void stopWhenSilent(messages)
  stopWhenCutOff(consumer, messages, onCutOff)
  return inBatches(messages)
}

/**
 * When all servers have started at once, a consumer exists before it has a leader. Its pulls would be lost without an error
 * until heartbeats are missed.
 */
function requireLeader({ name, cluster }: ConsumerInfo): void {
  if (cluster === undefined || cluster.leader) return
  throw new Failure('SERVICE_UNAVAILABLE', `the consumer ${name} has no leader yet`)
}

/** Stops a consumer that misses heartbeats; opened again, it may be reached through another server. */
async function stopWhenSilent(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of await messages.status()) {
    if (type === ConsumerEvents.HeartbeatsMissed) messages.stop()
  }
}

const askMs = 3_000
/** A server that the leader has not heard of for this long is counted as unreachable. Servers send a heartbeat every second. */
const unheardMs = 4_000

/**
 * Stops when the consumer's leader has lost its majority: cut off, it sends heartbeats for up to 20 s and delivers
 * nothing.
 */
function stopWhenCutOff(
  consumer: Consumer,
  messages: ConsumerMessages,
  onCutOff: () => void,
): void {
  const ask = async () => {
    const { cluster } = await consumer.info()
    const others = cluster?.replicas ?? []
    const heard = others.filter(({ active }) => active < nanos(unheardMs)).length
    if (2 * (heard + 1) > others.length + 1) return
    messages.stop()
    onCutOff()
  }
  const asking = setInterval(() => void ask().catch(() => undefined), askMs)
  void messages.closed().then(() => clearInterval(asking))
}

/** The broker's code for: no stream, JetStream not up yet, or a server without contact to the others. */
const unavailable = '503'
function refuse(error: unknown): never {
  if (error instanceof Failure) throw error
  const { code } = error as NatsError
  const reason = typeof code === 'string' ? code : 'unknown'
  throw new Failure('SERVICE_UNAVAILABLE', `the broker refused: ${reason}`, { cause: error })
}
