// The broker as events need it: one stream, publications, durable consumers. Only the files named nats*.ts import
// the client library; they must not know events or tables.
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  type NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
} from 'nats'
import { Failure } from '#core/errors.ts'
import { type Batches, openBatches } from './nats-batches.ts'
import { type BrokerConnection, type ConnectionOptions, keepConnected } from './nats-connection.ts'

/** The stream that carries events; `replicas` is 3 in production. */
export type StreamOptions = { name: string; subjects: string[]; replicas: number }

export type NatsOptions = ConnectionOptions & { stream?: Partial<StreamOptions> }

/** A durable pull consumer of one subject. */
export type DurableOptions = { durable: string; subject: string }

export interface Nats
  extends Pick<BrokerConnection, 'ready' | 'onConnected' | 'subscribe' | 'close'> {
  /** Makes the stream, or brings its settings up to date. */
  ensureStream(): Promise<void>
  /** Resolves when the broker has acknowledged. A missing stream is made again. Throws a Failure. */
  publish(subject: string, payload: Uint8Array, messageId: string): Promise<void>
  /** Opens a durable consumer, making stream and consumer when missing. Ends when either is lost. */
  openDurable(options: DurableOptions): Promise<Batches>
}

const dayMs = 86_400_000
const answerTimeoutMs = 5_000

/** Connects in the background and for ever; a broker that is down is no error here. */
export function connectNats(options: NatsOptions): Nats {
  const stream = { name: 'PAYWEAVE', subjects: ['pw.>'], replicas: 1, ...options.stream }
  const broker = keepConnected(options)
  let ensuring: Promise<void> | undefined

  function ensureStream(): Promise<void> {
    ensuring ??= makeStream(broker, stream).finally(() => {
      ensuring = undefined
    })
    return ensuring
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
    async openDurable(durable) {
      try {
        await ensureStream()
        await makeConsumer(await manager(broker), stream.name, durable)
        const connection = broker.now()
        const { consumers } = jetStreamOf(connection)
        return await openBatches(connection, await consumers.get(stream.name, durable.durable))
      } catch (error) {
        return refuse(error)
      }
    },
  }
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

function manager(broker: BrokerConnection): Promise<JetStreamManager> {
  // The library's check would ask for account facts that a narrow user may not have.
  return broker.now().jetstreamManager({ checkAPI: false, timeout: answerTimeoutMs })
}

async function makeStream(broker: BrokerConnection, options: StreamOptions): Promise<void> {
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

/** The stream is gone, or JetStream is not up yet. */
const noResponder = '503'
/** The stream may be gone too, when a plain subscription keeps the broker from saying so. */
const noAnswer = 'TIMEOUT'

function refuse(error: unknown): never {
  if (error instanceof Failure) throw error
  const { code } = error as NatsError
  const reason = typeof code === 'string' ? code : 'unknown'
  throw new Failure('SERVICE_UNAVAILABLE', `the broker refused: ${reason}`, { cause: error })
}
