// Publishes events right after their commit, from memory: their outbox rows are inserted already leased to this
// process. A row that it does not end becomes an ordinary row of the relay when the lease expires.
import { InboxState } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { SeenClient } from './confirmer.ts'
import type { OutboxMetrics } from './event-metrics.ts'
import type { Nats } from './nats/nats.ts'
import {
  type ClaimedEvent,
  confirmDirect,
  directLeaseMs,
  markFailed,
  markPublished,
  type OutboxEvent,
} from './outbox-store.ts'
import { publishEvent } from './relay.ts'

/** An event whose row was committed with `next_at` in the future (`leasedUntil`). */
export type CommittedEvent = OutboxEvent & { occurredAt: Date }

export type DirectPublisherOptions = {
  db: Database
  nats: Nats
  log: Logger
  metrics: OutboxMetrics
  /** By name, the consumers that must confirm the events of a subject. */
  consumersOf: (subject: string) => Readonly<Record<string, SeenClient>> | undefined
  /** True for a subject whose events end with the broker's acknowledgement. */
  endsWhenPublished: (subject: string) => boolean
  /** Called after events became ordinary published rows, so that the confirmers ask about them. */
  onPublished: () => void
}

export interface DirectPublisher {
  /**
   * Takes an event after the commit of its row. Never throws and never waits: an event that it cannot take is published
   * by the relay once its lease has expired.
   */
  publish(event: CommittedEvent): void
  /** Flushes: publishes what it can and releases the rest to other replicas' relays at once. Never rejects. */
  close(): Promise<void>
}

/** Events in memory: more than the fastest writers commit in a second. The relay publishes the overflow. */
const maxWaiting = 5_000
const batchEvents = 150
/** Batches that wait for the broker while the next one is published. */
const maxInFlight = 8
const retryMs = 1_000
const maxIdleMs = 60_000
/**
 * Events without consumers are not urgent: collected for this long, many go in one write and are acknowledged in one
 * read.
 */
const gatherMs = 250
/** How often consumers are asked, in pages of ids. */
const askMs = 500
const pageIds = 500
const timeoutMs = 2_000
/** A consumer that has not seen an event by then is slow or down: its rows become the confirmer's. */
const maxMs = 2_500
/** A publication begins only if at least this much of the lease is left. */
const marginMs = 2_000

type Held = { event: ClaimedEvent; atMs: number }

/** Starts both loops: publication and confirmation. Errors are logged; the rows then fall to the relay. */
export function startDirectPublisher(options: DirectPublisherOptions): DirectPublisher {
  const { db, nats, log } = options
  const waiting: Held[] = []
  const inFlight = new Set<Promise<void>>()
  const published: Held[] = []

  async function publishNext(batch: Held[]): Promise<void> {
    published.push(...(await publishBatch(options, batch)))
    if (published.length > 0) confirmSoon.start()
  }

  /** Publishes the oldest waiting events, and waits for the broker only when too many are in flight; true when more wait. */
  async function publishSome(): Promise<boolean> {
    if (waiting.length === 0 || !nats.ready()) return false
    const youngest = performance.now() - directLeaseMs + marginMs
    const batch = waiting.splice(0, batchEvents).filter(({ atMs }) => atMs > youngest)
    const publication = publishNext(batch).finally(() => inFlight.delete(publication))
    inFlight.add(publication)
    if (inFlight.size >= maxInFlight) await Promise.race(inFlight)
    return waiting.length > 0
  }

  /** Ends all published events that every consumer (there may be none) has confirmed; one update for all subjects. */
  async function confirmAll(): Promise<boolean> {
    if (published.length === 0) return false
    const { seen, late, left } = await ask(options, published.splice(0))
    published.push(...left)
    if (left.length > 0) confirmSoon.start()
    if (seen.length > 0) options.metrics.confirmed.inc(await confirmDirect(db, idsOf(seen)))
    await fallBackToRelay(options, late)
    return false
  }

  /** Releases the leases early, so that no event waits until they expire. */
  async function flush(): Promise<void> {
    while (await publishSome());
    await Promise.all(inFlight)
    await giveUp(options, waiting, published)
  }

  const publishing = startLoop({
    kind: 'direct publications',
    log,
    pauseMs: retryMs,
    idlePauseMs: maxIdleMs,
    // An event leaves in the turn in which it was committed.
    gatherMs: () => 0,
    round: publishSome,
  })
  const forget = nats.onConnected(publishing.notify)
  const confirming = startLoop({
    kind: 'direct confirmations',
    log,
    pauseMs: askMs,
    idlePauseMs: maxIdleMs,
    gatherMs: () => 0,
    round: confirmAll,
  })
  // By then the consumers have most likely processed what was published.
  const confirmSoon = createDelay(askMs, confirming.notify)
  const publishSoon = createDelay(gatherMs, publishing.notify)
  return {
    publish(event) {
      if (waiting.length >= maxWaiting) return
      waiting.push({ event: claimedOf(event), atMs: performance.now() })
      if (options.endsWhenPublished(event.subject)) publishSoon.start()
      else publishing.notify()
    },
    async close() {
      publishSoon.stop()
      confirmSoon.stop()
      forget()
      await Promise.all([publishing.close(), confirming.close()])
      await flush().catch((error: unknown) => {
        log.warn({ err: error, kind: 'direct publications' }, 'events left to the relay')
      })
    },
  }
}

/** Runs `work` once, so long after the first of some calls. */
function createDelay(ms: number, work: () => void): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  return {
    start() {
      timer ??= setTimeout(() => {
        timer = undefined
        work()
      }, ms).unref()
    },
    stop: () => clearTimeout(timer),
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

function idsOf(held: readonly Held[]): string[] {
  return held.map(({ event }) => event.event_id)
}

/**
 * Publishes all at once. Returns those that the broker acknowledged, and notes the errors of the others in their rows.
 */
async function publishBatch(
  { db, nats, metrics }: DirectPublisherOptions,
  batch: readonly Held[],
): Promise<Held[]> {
  const errors = await Promise.all(batch.map(({ event }) => publishEvent(nats, event)))
  const atMs = performance.now()
  const published: Held[] = []
  const failed: { eventId: string; error: string }[] = []
  for (const [index, { event }] of batch.entries()) {
    const error = errors[index]
    if (error === undefined) published.push({ event, atMs })
    else failed.push({ eventId: event.event_id, error })
  }
  metrics.published.inc(published.length)
  metrics.failed.inc(failed.length)
  // Best effort: without it the relay claims them all the same, once the lease has expired.
  if (failed.length > 0) await markFailed(db, failed, retryMs).catch(() => undefined)
  return published
}

/** Leaves to the relay what was not published, and to the confirmers what was. */
async function giveUp(
  options: DirectPublisherOptions,
  waiting: readonly Held[],
  published: readonly Held[],
): Promise<void> {
  const rest = idsOf(waiting).map((eventId) => ({ eventId, error: 'left by a stop' }))
  if (rest.length > 0) await markFailed(options.db, rest, 0)
  await fallBackToRelay(options, published)
}

/**
 * Makes the rows ordinary published ones, which the confirmer and the relay look after; those without consumers end.
 */
async function fallBackToRelay(
  options: DirectPublisherOptions,
  held: readonly Held[],
): Promise<void> {
  if (held.length === 0) return
  const rows = held.map(({ event }) => ({
    eventId: event.event_id,
    attempts: 0,
    ends: options.endsWhenPublished(event.subject),
  }))
  await markPublished(options.db, rows)
  options.metrics.confirmed.inc(rows.filter(({ ends }) => ends).length)
  options.onPublished()
}

type Asked = Record<'seen' | 'late' | 'left', Held[]>

/**
 * Sorts events into those that all their consumers have seen, those that fall back to the relay, and those to ask about
 * again.
 */
async function ask(options: DirectPublisherOptions, held: readonly Held[]): Promise<Asked> {
  const { seen, rejected } = await askConsumers(options, held)
  const oldestMs = performance.now() - maxMs
  const asked: Asked = { seen: [], late: [], left: [] }
  for (const one of held) {
    const { event_id: id } = one.event
    if (seen.has(id)) asked.seen.push(one)
    else if (one.atMs < oldestMs || rejected.has(id)) asked.late.push(one)
    else asked.left.push(one)
  }
  return asked
}

/** Which of the events all their consumers have, and which one of them refuses permanently. */
async function askConsumers(
  { consumersOf }: DirectPublisherOptions,
  held: readonly Held[],
): Promise<{ seen: Set<string>; rejected: Set<string> }> {
  const needs = new Map<SeenClient, string[]>()
  const seen = new Set<string>()
  const rejected = new Set<string>()
  for (const { event } of held) {
    const consumers = consumersOf(event.subject)
    // An undeclared subject is another release's: its consumers are unknown here.
    if (consumers === undefined) continue
    seen.add(event.event_id)
    for (const client of Object.values(consumers)) {
      const ids = needs.get(client)
      if (ids === undefined) needs.set(client, [event.event_id])
      else ids.push(event.event_id)
    }
  }
  for (const [client, ids] of needs) {
    // Not logged here: the confirmer, which asks next, reports a consumer that cannot be reached.
    const known = await statesAt(client, ids).catch(() => new Map<string, InboxState>())
    for (const id of ids) {
      const state = known.get(id)
      if (state !== InboxState.SEEN) seen.delete(id)
      if (state === InboxState.POISONED) rejected.add(id)
    }
  }
  return { seen, rejected }
}

async function statesAt(client: SeenClient, ids: string[]): Promise<Map<string, InboxState>> {
  const states = new Map<string, InboxState>()
  for (let at = 0; at < ids.length; at += pageIds) {
    const { known } = await client.seen({ eventIds: ids.slice(at, at + pageIds) }, { timeoutMs })
    for (const { eventId, state } of known) states.set(eventId, state)
  }
  return states
}
