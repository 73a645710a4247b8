// Publishes committed events to the broker from two sources: the memory of the process that has just committed them, and
// due rows of the outbox. What the broker does not take goes to the consumers by RPC. No transaction is open while it publishes.
import { create, toBinary } from '@bufbuild/protobuf'
import { EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import { createDelay, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { publishSpan } from '#platform/telemetry/spans.ts'
import type { OutboxMetrics } from './event-metrics.ts'
import type { Nats } from './nats/nats.ts'
import {
  type ClaimedEvent,
  claimDue,
  confirmDirect,
  directLeaseMs,
  markFailed,
  type OutboxEvent,
} from './outbox-store.ts'
import { type ConsumersOf, eventMessage, processAtConsumers } from './without-broker.ts'

/** An event whose row was committed with `next_at` in the future (`leasedUntil`). */
export type CommittedEvent = OutboxEvent & { occurredAt: Date }

export type PublisherOptions = {
  db: Database
  nats: Nats
  log: Logger
  metrics: OutboxMetrics
  /** Subjects with consumers: their events are urgent, and need not wait for a broker. */
  consumed: ReadonlySet<string>
  consumersOf: ConsumersOf
  /** Records the publication of claimed rows. */
  record: (published: readonly ClaimedEvent[]) => Promise<void>
  /** Called with events from memory that the broker has acknowledged. Their rows are not updated yet. */
  onDirect: (published: readonly ClaimedEvent[]) => void
  /** The clock of the process, in milliseconds. */
  nowMs: () => number
}

export interface Publisher {
  /** Starts a claim soon, after events were committed. Many calls make one claim. */
  notify: () => void
  /**
   * Takes an event after the commit of its row, which is leased to this process. Never throws and never waits: an event
   * that it cannot take becomes due when its lease expires.
   */
  publish(event: CommittedEvent): void
  /** Publishes what it can and makes the rest due at once, for other replicas. Never rejects. */
  close(): Promise<void>
}

/** Events of a batch, from either source. */
const maxBatch = 150
/** Delay after which an event whose publication failed is due again. */
const retryMs = 1_000

/** Maximum of events in memory: more than a process commits in a second. Further events become due when their leases expire. */
const maxInMemory = 5_000
/** The same for an event without consumers. While there is no broker these stay in memory, and the others go by RPC. */
const maxWithoutConsumers = maxInMemory / 2
/** How long events without consumers are gathered. They are not urgent, and together they need one write and one acknowledgement. */
const gatherMs = 250
/** A publication from memory begins only if at least this much of the lease is left. */
const marginMs = 2_000

/** Longer than the maximum of a publication with a look-up of the stream and a second publication. */
const claimLeaseMs = 20_000
/** Writers notify after their commits. Polling finds the events of a process that ended before it published them. */
const poll = { minMs: 20, maxMs: 1_000 }
/** Minimum between the starts of two claims: under load commits share a claim, and a single commit is claimed at once. */
const claimSpacingMs = 10
/** Share of a batch for republication while new events fill the rest. */
const busyShare = 50
/** Maximum of republications: while a consumer is down, each of its events is due again every minute. */
const republishPerS = 1_000

/** Starts a loop for each source. Neither broker nor database needs to be up: errors are logged and the work is retried. */
export function startPublisher(options: PublisherOptions): Publisher {
  const due = publishDue(options)
  const direct = publishDirectly(options, due.retry)
  return {
    notify: due.notify,
    publish: direct.publish,
    async close() {
      await Promise.all([direct.close(), due.close()])
    },
  }
}

/** The source of due rows. `retry`: failed publications are due again in `retryMs`. */
function publishDue(options: PublisherOptions) {
  const { db, nats, log } = options
  const inFlight = createWindow(4)
  const allowance = republishAllowance()
  let freshWasFull = false

  /** Without a broker, events that have no consumers wait for it. */
  async function claim(subjects: readonly string[] | undefined): Promise<ClaimedEvent[]> {
    const again = allowance.take(freshWasFull ? busyShare : maxBatch)
    const limits = { fresh: maxBatch, again, leaseMs: claimLeaseMs, subjects }
    const batch = await claimDue(db, limits)
    const fresh = batch.filter(({ attempts }) => attempts === 0).length
    allowance.giveBack(again - (batch.length - fresh))
    freshWasFull = fresh >= maxBatch
    return batch
  }

  async function publishAndRecord(batch: ClaimedEvent[]): Promise<void> {
    const published = await publishAll(options, batch, retry.start)
    await options.record(published).catch((error: unknown) => logUnrecorded(log, error))
  }

  const loop = startLoop({
    kind: 'outbox',
    log,
    pauseMs: poll.minMs,
    idlePauseMs: poll.maxMs,
    gatherMs: ({ agoMs }) => claimSpacingMs - agoMs,
    async round() {
      const batch = await claim(nats.ready() ? undefined : [...options.consumed])
      if (batch.length === 0) return nats.ready() ? false : retryMs
      await inFlight.add(publishAndRecord(batch))
      return batch.length >= maxBatch ? true : poll.minMs
    },
  })
  // Wakes the loop when failed publications are due, so that they do not wait for the next poll.
  const retry = createDelay(retryMs, loop.notify)
  const forget = nats.onConnected(loop.notify)
  return {
    notify: loop.notify,
    retry: retry.start,
    async close() {
      forget()
      await loop.close()
      await inFlight.drain()
      retry.stop()
    },
  }
}

type Waiting = { event: ClaimedEvent; atMs: number }

/** The source in memory: events of rows that are leased to this process. */
function publishDirectly(options: PublisherOptions, retry: () => void) {
  const { db, nats, log, consumed, nowMs } = options
  let waiting: Waiting[] = []
  const inFlight = createWindow(8)

  /** The oldest events; without a broker, those that have consumers. */
  function takeSome(): Waiting[] {
    if (nats.ready()) return waiting.splice(0, maxBatch)
    const sendable = waiting.filter(({ event }) => consumed.has(event.subject))
    const taken = new Set(sendable.slice(0, maxBatch))
    waiting = waiting.filter((one) => !taken.has(one))
    return [...taken]
  }

  /** Publishes the oldest; true when more can be published. */
  async function publishSome(): Promise<boolean> {
    const taken = takeSome()
    if (taken.length === 0) return false
    const oldestMs = nowMs() - directLeaseMs + marginMs
    const batch = taken.filter(({ atMs }) => atMs > oldestMs)
    const events = batch.map(({ event }) => event)
    await inFlight.add(publishAll(options, events, retry).then(options.onDirect))
    return waiting.length > 0
  }

  /** Makes the rest due for all replicas at once, so that no event waits until its lease expires. */
  async function release(): Promise<void> {
    const rest = waiting.map(({ event }) => ({ eventId: event.event_id, error: 'left by a stop' }))
    if (rest.length > 0) await markFailed(db, rest, 0)
  }

  const loop = startLoop({
    kind: 'direct publications',
    log,
    pauseMs: retryMs,
    idlePauseMs: 60_000,
    // An event leaves in the turn in which it was committed.
    gatherMs: () => 0,
    round: publishSome,
  })
  const gathered = createDelay(gatherMs, loop.notify)
  const forget = nats.onConnected(loop.notify)
  return {
    publish(event: CommittedEvent) {
      const isConsumed = consumed.has(event.subject)
      if (waiting.length >= (isConsumed ? maxInMemory : maxWithoutConsumers)) return
      waiting.push({ event: claimedOf(event), atMs: nowMs() })
      if (isConsumed) loop.notify()
      else gathered.start()
    },
    async close() {
      gathered.stop()
      forget()
      await loop.close()
      while (await publishSome());
      await inFlight.drain()
      await release().catch((error: unknown) => {
        log.warn({ err: error, kind: 'direct publications' }, 'events left to the outbox')
      })
    },
  }
}

/**
 * Resolves to the events that the broker acknowledged, and never rejects. Ends those that it did not take and their consumers
 * processed; the rest is due again in `retryMs`.
 */
async function publishAll(
  options: PublisherOptions,
  batch: readonly ClaimedEvent[],
  onFailed: () => void,
): Promise<ClaimedEvent[]> {
  const { db, nats, log, metrics } = options
  const errors = await Promise.all(batch.map((event) => publishEvent(nats, event)))
  const published = batch.filter((_, index) => errors[index] === undefined)
  metrics.published.inc(published.length)
  const refused = batch.filter((_, index) => errors[index] !== undefined)
  if (refused.length === 0) return published
  metrics.failed.inc(refused.length)
  const processed = await processAtConsumers(options.consumersOf, refused)
  const failed = batch.flatMap(({ event_id: eventId }, index) => {
    const error = errors[index]
    return error === undefined || processed.has(eventId) ? [] : [{ eventId, error }]
  })
  const unrecorded = (error: unknown) => logUnrecorded(log, error)
  if (processed.size > 0) await endProcessed(options, [...processed]).catch(unrecorded)
  if (failed.length > 0) await markFailed(db, failed, retryMs).then(onFailed, unrecorded)
  return published
}

/** Ends events that all their consumers have processed without the broker. Rejects as a Queryable does. */
async function endProcessed({ db, metrics }: PublisherOptions, eventIds: string[]): Promise<void> {
  metrics.sentByRpc.inc(eventIds.length)
  metrics.confirmed.inc(await confirmDirect(db, eventIds))
}

/** Logs that rows were not updated. They stay leased, and are due again when the lease expires. */
function logUnrecorded(log: Logger, error: unknown): void {
  log.warn({ err: error }, 'publications not recorded')
}

/** Limits the batches that wait for the acknowledgements of the broker to `max`. The batches must not reject. */
function createWindow(max: number) {
  const inFlight = new Set<Promise<void>>()
  return {
    /** Resolves when another batch may follow. */
    async add(batch: Promise<void>): Promise<void> {
      const one = batch.finally(() => inFlight.delete(one))
      inFlight.add(one)
      if (inFlight.size >= max) await Promise.race(inFlight)
    },
    drain: () => Promise.all(inFlight),
  }
}

/** A bucket of republications, filled once a second. */
function republishAllowance(): { take(max: number): number; giveBack(unused: number): void } {
  let left = republishPerS
  let at = performance.now()
  return {
    take(max) {
      const now = performance.now()
      left = Math.min(republishPerS, left + ((now - at) / 1_000) * republishPerS)
      at = now
      const taken = Math.min(max, Math.floor(left))
      left -= taken
      return taken
    },
    giveBack(unused) {
      left += unused
    },
  }
}

function claimedOf(event: CommittedEvent): ClaimedEvent {
  const { eventId, subject, projectId, payload, occurredAt, traceparent, requestId } = event
  return {
    event_id: eventId,
    subject,
    project_id: projectId ?? null,
    payload,
    occurred_at: occurredAt,
    traceparent: traceparent ?? null,
    request_id: requestId ?? null,
    attempts: 0,
  }
}

/**
 * Publishes; resolves to the error message (at most 200 characters) or undefined, and never rejects. The message id contains the
 * number of acknowledged publications: so the broker does not drop a republication, and does drop a retry of a publication
 * whose acknowledgement was lost.
 */
export async function publishEvent(nats: Nats, event: ClaimedEvent): Promise<string | undefined> {
  const span = publishSpan(event.subject, event.event_id, event.traceparent)
  try {
    const message = create(EventSchema, eventMessage(event, span?.traceparent))
    const payload = toBinary(EventSchema, message)
    await nats.publish(event.subject, payload, `${event.event_id}:${event.attempts}`)
    span?.end()
    return undefined
  } catch (error) {
    span?.end({}, 'not_published')
    return error instanceof Error ? error.message.slice(0, 200) : 'unknown'
  }
}
