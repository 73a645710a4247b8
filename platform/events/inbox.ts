// The inbox of a consumer: processes each event once, in the transaction of its work, however often it is delivered.
// Makes no network call while it holds unacknowledged messages.
import { fromBinary } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { type Event, EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import type { Database, Queryable } from '#platform/db/db.ts'
import { isDatabaseDown } from '#platform/db/errors.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type ProcessSpans, processSpans } from '#platform/telemetry/spans.ts'
import { createSignal } from '../process/loop.ts'
import { type InboxMetrics, inboxMetrics } from './event-metrics.ts'
import { claimNewEvents, deleteProcessed, storeDeadLetter } from './inbox-store.ts'
import type { Batches, ReceivedMessage } from './nats/batches.ts'
import type { Nats } from './nats/nats.ts'
import { startRetention } from './retention.ts'
import { durableName } from './topology.ts'
import { UnprocessableEvent } from './unprocessable-event.ts'

export { UnprocessableEvent } from './unprocessable-event.ts'

/**
 * Processes new events in the transaction that records them. Throws an UnprocessableEvent for an event that can never
 * be processed; any other error counts as transient, and the events are delivered again later.
 */
export type HandleEvents = (tx: Queryable, events: Event[]) => Promise<void>

/**
 * Records new events in the inbox together with its own work, and resolves to the ids of the new ones. Throws as a
 * `HandleEvents` does.
 */
export type TakeInEvents = (events: Event[]) => Promise<Set<string>>

export type ConsumerOptions = {
  db: Database
  nats: Nats
  /** Name of the consumer at the broker; the stream controller makes one durable for each subject from it. */
  durable: string
  /** A subject may end in `.*`: its events then come through one durable consumer, in the order of the stream. */
  subjects: string[]
  /** Milliseconds between two batches at least, 0 if it is absent: see Batches. */
  spacingMs?: number
  log: Logger
  metrics: Registry
} & ({ handle: HandleEvents } | { takeIn: TakeInEvents })

const batchMessages = 200
const reopenMs = 1_000
/** After this long no more events of a batch are begun: the broker delivers a message again 30 s after it came. */
const maxBatchMs = 10_000
/**
 * Redelivery delay of messages that were not tried: another replica gets them soon, and they come before an event that took the time of
 * their batch.
 */
const handBackMs = 100
const retry = { minMs: 1_000, maxMs: 30_000 }

/** A consumer that runs. */
export interface EventConsumer {
  /**
   * Processes events that came by RPC, until the signal of their call aborts. One that it cannot process, or whose subject it does not
   * consume, is left to the broker, which brings it again. Rejects with SERVICE_UNAVAILABLE when it did not try them all.
   */
  process(events: readonly Event[], signal: AbortSignal): Promise<void>
  /** Resolves after the current batch. */
  close(): Promise<void>
}

/**
 * Starts consuming events. It needs neither the broker nor the database to be up: errors are logged and tried again. Only `process`
 * rejects, as EventConsumer says.
 */
export function startConsumer(options: ConsumerOptions): EventConsumer {
  const { db, log } = options
  const metrics = inboxMetrics({ metrics: options.metrics, db })
  const consuming = { ...options, metrics, work: workOf(options) }
  const parts = [
    ...options.subjects.map((subject) => consumeSubject(consuming, subject)),
    startRetention({ db, log, deleteOld: deleteProcessed }),
  ]
  return {
    async process(events, signal) {
      const batch = events
        .filter((event) => options.subjects.some((subject) => matches(event.subject, subject)))
        .map((event) => ({ event, messages: [] }))
      if (await process(consuming, batch, () => !signal.aborted)) return
      throw new Failure('SERVICE_UNAVAILABLE', 'the database is unavailable, retry later')
    },
    async close() {
      await Promise.all(parts.map((part) => part.close()))
    },
  }
}

/** Whether a subject is the one that is consumed; `.*` at its end stands for one word more. */
function matches(subject: string, consumed: string): boolean {
  if (!consumed.endsWith('.*')) return subject === consumed
  const start = consumed.slice(0, -1)
  return subject.startsWith(start) && /^[^.]+$/.test(subject.slice(start.length))
}

type Consuming = Omit<ConsumerOptions, 'metrics' | 'handle' | 'takeIn'> & {
  metrics: InboxMetrics
  work: Work
}

function consumeSubject(options: Consuming, subject: string): { close(): Promise<void> } {
  const { nats, log } = options
  const durable = durableName(options.durable, subject)
  const wakeup = createSignal()
  const forget = nats.onConnected(wakeup.notify)
  const stopping = new AbortController()
  let batches: Batches | undefined
  let refusal: string | undefined

  async function drain(open: Batches): Promise<void> {
    for (;;) {
      const batch = await open.next(batchMessages, options.spacingMs)
      if (batch === undefined) return
      if (stopping.signal.aborted) {
        for (const message of batch) message.retry(handBackMs)
        continue
      }
      // While this batch is processed the next one gathers: batches grow with the load.
      const endMs = performance.now() + maxBatchMs
      const goesOn = () => !stopping.signal.aborted && performance.now() < endMs
      const passed = await processBatch(options, batch, goesOn)
      // Paused, because the database is down and the next batch would fail as well.
      if (!passed) await wakeup.pause(reopenMs)
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const beganMs = performance.now()
      if (nats.ready()) {
        try {
          batches = await nats.openDurable({ durable, subject })
          // `close` ran while this call was opening the consumer.
          if (stopping.signal.aborted) batches.stop()
          else log.info({ durable, subject }, 'consumer opened')
          refusal = undefined
          await drain(batches)
        } catch (error) {
          const { message } = error as Error
          if (message !== refusal) log.warn({ durable, subject, err: error }, 'consumer not opened')
          refusal = message
        }
        batches?.stop()
        batches = undefined
      }
      // At most one attempt a second. A consumer that was open for longer than that is opened again at once.
      const leftMs = beganMs + reopenMs - performance.now()
      if (!stopping.signal.aborted && leftMs > 0) await wakeup.pause(leftMs)
    }
  }

  const running = run()
  return {
    close() {
      stopping.abort()
      forget()
      wakeup.notify()
      batches?.stop()
      return running
    },
  }
}

type Known = { event: Event; messages: ReceivedMessage[] }

/** Whether a batch may begin more events: false when its caller stops waiting, or its consumer stops. */
type GoesOn = () => boolean

/**
 * Processes one batch and acknowledges, redelivers or rejects each message. Resolves to false when it did not try all, as when the
 * database is down, so that the caller pauses; other errors are logged and have their messages delivered again.
 */
async function processBatch(
  options: Consuming,
  batch: ReceivedMessage[],
  goesOn: GoesOn,
): Promise<boolean> {
  const events = new Map<string, Known>()
  const broken: ReceivedMessage[] = []
  for (const message of batch) {
    const event = decode(message)
    if (event === undefined) {
      broken.push(message)
      continue
    }
    const known = events.get(event.eventId)
    if (known === undefined) events.set(event.eventId, { event, messages: [message] })
    else known.messages.push(message)
  }
  await refuse(options, broken, messageEventId, 'the message is not an event')
  return process(options, [...events.values()], goesOn)
}

async function process(options: Consuming, batch: Known[], goesOn: GoesOn): Promise<boolean> {
  if (batch.length === 0) return true
  if (!goesOn()) {
    handBack(options, batch)
    return false
  }
  try {
    const processed = await options.work(batch.map(({ event }) => event))
    const messages = batch.flatMap((known) => known.messages)
    for (const message of messages) message.ack()
    options.metrics.processed.inc(processed.length)
    options.metrics.duplicates.inc(Math.max(messages.length, batch.length) - processed.length)
    for (const event of processed) options.metrics.delay.observe(ageS(event))
    return true
  } catch (error) {
    const rejected = batch.find(
      ({ event }) => error instanceof UnprocessableEvent && error.eventId === event.eventId,
    )
    if (rejected !== undefined) {
      const { event, messages } = rejected
      await refuse(options, messages, () => event.eventId, (error as Error).message)
      return process(
        options,
        batch.filter((known) => known !== rejected),
        goesOn,
      )
    }
    const down = isDatabaseDown(error)
    if (batch.length > 1 && !down) return processApart(options, batch, goesOn)
    redeliverLater(options, batch, error)
    return !down
  }
}

/** Processes each event of a failed batch alone, so that one bad event does not delay the others. */
async function processApart(options: Consuming, batch: Known[], goesOn: GoesOn): Promise<boolean> {
  for (const [index, known] of batch.entries()) {
    if (!(await process(options, [known], goesOn))) {
      handBack(options, batch.slice(index + 1))
      return false
    }
  }
  return true
}

/** Seconds since the event, never below zero: its time is by the clock of the database, `now` by ours. */
function ageS({ occurredTime }: Event): number {
  return occurredTime === undefined
    ? 0
    : Math.max(0, (Date.now() - timestampMs(occurredTime)) / 1_000)
}

/** Processes events, and returns those that were new. */
type Work = (events: Event[]) => Promise<Event[]>

function workOf(options: ConsumerOptions): Work {
  return 'takeIn' in options ? takingIn(options.durable, options.takeIn) : handling(options)
}

function takingIn(durable: string, takeIn: TakeInEvents): Work {
  return async (events) => {
    const spans = processSpans(durable, events)
    try {
      const newIds = await takeIn(spans?.events ?? events)
      spans?.end()
      return events.filter(({ eventId }) => newIds.has(eventId))
    } catch (error) {
      spans?.end('not_processed')
      throw error
    }
  }
}

function handling({ db, durable, handle }: ConsumerOptions & { handle: HandleEvents }): Work {
  return async (events) => {
    let spans: ProcessSpans | undefined
    const work = async (tx: Queryable) => {
      const eventIds = events.map(({ eventId }) => eventId)
      const newIds = await claimNewEvents(tx, eventIds)
      const newEvents = events.filter(({ eventId }) => newIds.has(eventId))
      spans?.end('repeated')
      spans = processSpans(durable, newEvents)
      if (newEvents.length > 0) await handle(tx, spans?.events ?? newEvents)
      return newEvents
    }
    try {
      const processed = await db.transaction(work)
      spans?.end()
      return processed
    } catch (error) {
      spans?.end('not_processed')
      throw error
    }
  }
}

/** Has messages that were not tried redelivered soon. */
function handBack({ metrics }: Consuming, batch: Known[]): void {
  const messages = batch.flatMap((known) => known.messages)
  for (const message of messages) message.retry(handBackMs)
  metrics.retried.inc(messages.length)
}

/** Has messages redelivered with exponential backoff. The cause may be transient, so none becomes a dead letter here. */
function redeliverLater({ log, metrics }: Consuming, batch: Known[], error: unknown): void {
  const messages = batch.flatMap((known) => known.messages)
  for (const message of messages) {
    message.retry(Math.min(retry.maxMs, retry.minMs * 2 ** Math.min(message.deliveries - 1, 5)))
  }
  metrics.retried.inc(messages.length)
  const eventId = batch.length === 1 ? batch[0]?.event.eventId : undefined
  log.warn({ eventId, count: messages.length, err: error }, 'events not processed')
}

/**
 * Stores the dead letter of each message before it rejects it: a message would otherwise be lost if the process ended between the
 * two. While the database is down, the messages that are left are delivered again without a try.
 */
async function refuse(
  { db, log, metrics }: Consuming,
  messages: ReceivedMessage[],
  eventIdOf: (message: ReceivedMessage) => string | undefined,
  reason: string,
): Promise<void> {
  for (const [index, message] of messages.entries()) {
    const { subject, payload } = message
    const eventId = eventIdOf(message)
    try {
      const letter = { eventId, subject, message: payload, reason: reason.slice(0, 500) }
      await storeDeadLetter(db, letter)
    } catch (error) {
      log.warn({ eventId, err: error }, 'dead letter not stored')
      const down = isDatabaseDown(error)
      for (const left of down ? messages.slice(index) : [message]) left.retry(retry.minMs)
      if (down) return
      continue
    }
    message.refuse()
    metrics.deadLettered.inc()
    log.error({ eventId, subject }, 'event dead-lettered')
  }
}

function decode(message: ReceivedMessage): Event | undefined {
  try {
    const event = fromBinary(EventSchema, message.payload)
    event.eventId = event.eventId.toLowerCase()
    return isUuid(event.eventId) ? event : undefined
  } catch {
    return undefined
  }
}

/** The event id in the message id, which the publisher set, for messages that cannot be decoded. */
function messageEventId({ messageId }: ReceivedMessage): string | undefined {
  const eventId = messageId?.split(':')[0]
  return eventId !== undefined && isUuid(eventId) ? eventId : undefined
}
