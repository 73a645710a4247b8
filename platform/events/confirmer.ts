// Asks consumers which events they have, until each is confirmed or rejected: about rows of the outbox, and about events that this
// process published from memory. Does not publish: the row of an event that a consumer lacks becomes due for the publisher.
import { InboxState } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import { createDelay, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import {
  type Confirmation,
  type Need,
  recordAnswers,
  start,
  unansweredBy,
} from './confirmation-store.ts'
import type { OutboxMetrics } from './event-metrics.ts'
import { type ClaimedEvent, confirmDirect } from './outbox-store.ts'
import { type ConsumersOf, eventsByClient, type InboxClient } from './without-broker.ts'

type SeenClient = Pick<InboxClient, 'seen'>

export type ConfirmerOptions = {
  db: Database
  log: Logger
  metrics: OutboxMetrics
  consumer: { name: string; subjects: string[]; client: SeenClient }
  /** Every consumer of every subject, because an event ends when the last of its consumers has answered. */
  needs: Need[]
}

export interface Confirmer {
  /** Called after events were published: the consumer is asked soon. */
  expect(): void
  /** Stops asking; resolves after the current round. */
  close(): Promise<void>
}

const pageIds = 500
/** Maximum pages in one round. The next round continues after them, so that it reaches every event of a backlog. */
const pagesPerRound = 20
const askMs = { min: 500, max: 5_000 }

/**
 * Starts the loop over rows of the outbox: every 0.5 s while answers come, slower up to 5 s while none do. Errors are
 * logged once, and the loop goes on.
 */
export function startConfirmer(options: ConfirmerOptions): Confirmer {
  const { log, consumer } = options
  const stopping = new AbortController()
  let cursor = start
  let failing = false

  async function askPages(): Promise<number> {
    let answered = 0
    for (let page = 0; page < pagesPerRound && !stopping.signal.aborted; page += 1) {
      const events = await unansweredBy(options.db, consumer, cursor, pageIds)
      if (events.length > 0) {
        const ids = events.map((event) => event.event_id)
        answered += await askAndNote(options, ids, stopping.signal)
      }
      cursor = events.length < pageIds ? start : (events.at(-1) ?? start)
      if (cursor === start) break
    }
    return answered
  }

  async function round(): Promise<boolean | number> {
    try {
      const answered = await askPages()
      if (failing) log.info({ consumer: consumer.name }, 'consumer answers again')
      failing = false
      return answered > 0 ? askMs.min : false
    } catch (error) {
      if (stopping.signal.aborted) return false
      cursor = start
      // Logged once, and not in each round while a consumer is down.
      if (!failing) log.warn({ consumer: consumer.name, err: error }, 'events not confirmed')
      failing = true
      return false
    }
  }

  const loop = startLoop({
    kind: 'confirmer',
    log,
    pauseMs: askMs.min,
    idlePauseMs: askMs.max,
    round,
  })
  // A consumer usually needs less than half a second to process an event.
  const soon = createDelay(askMs.min, loop.notify)
  return {
    expect() {
      if (!failing) soon.start()
    },
    async close() {
      soon.stop()
      stopping.abort()
      await loop.close()
    },
  }
}

/**
 * Asks for these events and records what the consumer knows; returns how many it knew. Rejects with the Failure of the
 * RPC, or as `Database.transaction` does.
 */
async function askAndNote(
  { db, metrics, consumer, needs }: Omit<ConfirmerOptions, 'log'>,
  eventIds: string[],
  signal: AbortSignal,
): Promise<number> {
  const { known } = await consumer.client.seen({ eventIds }, { signal })
  const answers: Confirmation[] = known.flatMap(({ eventId, state }): Confirmation[] => {
    if (state === InboxState.SEEN) return [{ eventId, state: 'seen' }]
    return state === InboxState.POISONED ? [{ eventId, state: 'poisoned' }] : []
  })
  if (answers.length === 0) return 0
  const ended = await db.transaction((tx) => recordAnswers(tx, consumer.name, answers, needs))
  metrics.confirmed.inc(ended.confirmed)
  metrics.deadLettered.inc(ended.deadLettered)
  return answers.length
}

export type DirectConfirmerOptions = Pick<ConfirmerOptions, 'db' | 'log' | 'metrics'> & {
  consumersOf: ConsumersOf
  /** Records the publication of events in their rows, which `startConfirmer` and the publisher then look after. */
  record: (published: readonly ClaimedEvent[]) => Promise<void>
  /** The clock of the process, in milliseconds. */
  nowMs: () => number
}

export interface DirectConfirmer {
  /** Takes events that the broker has acknowledged and whose rows do not say so. Never throws. */
  expect(published: readonly ClaimedEvent[]): void
  /** Records the publication of those that are not confirmed. Never rejects. */
  close(): Promise<void>
}

/** A consumer that has not processed an event by then is slow or down: the row is marked as published, and the loop over rows asks on. */
const maxDirectMs = 2_500
const directTimeoutMs = 2_000

type Published = { event: ClaimedEvent; atMs: number }

/** Starts the loop over events in memory. One update ends all that each of their consumers (there may be none) has seen. */
export function startDirectConfirmer(options: DirectConfirmerOptions): DirectConfirmer {
  const { db, log, metrics, record, nowMs } = options
  const published: Published[] = []

  async function round(): Promise<boolean> {
    if (published.length === 0) return false
    const batch = published.splice(0)
    const { seen, rejected } = await askConsumers(options, batch)
    const oldestMs = nowMs() - maxDirectMs
    const late: ClaimedEvent[] = []
    for (const one of batch) {
      const { event_id: id } = one.event
      if (seen.has(id)) continue
      if (one.atMs < oldestMs || rejected.has(id)) late.push(one.event)
      else published.push(one)
    }
    if (published.length > 0) soon.start()
    if (seen.size > 0) metrics.confirmed.inc(await confirmDirect(db, [...seen]))
    await record(late)
    return false
  }

  const loop = startLoop({
    kind: 'direct confirmations',
    log,
    pauseMs: askMs.min,
    idlePauseMs: 60_000,
    gatherMs: () => 0,
    round,
  })
  const soon = createDelay(askMs.min, loop.notify)
  return {
    expect(events) {
      const atMs = nowMs()
      for (const event of events) published.push({ event, atMs })
      if (published.length > 0) soon.start()
    },
    async close() {
      soon.stop()
      await loop.close()
      await record(published.map(({ event }) => event)).catch((error: unknown) => {
        log.warn({ err: error, kind: 'direct confirmations' }, 'events left to the outbox')
      })
    },
  }
}

/** `seen`: events that all their consumers have. `rejected`: events that a consumer has as a dead letter. */
async function askConsumers(
  { consumersOf }: DirectConfirmerOptions,
  batch: readonly Published[],
): Promise<{ seen: Set<string>; rejected: Set<string> }> {
  // An undeclared subject is another release's: its consumers are unknown here.
  const events = batch
    .map(({ event }) => event)
    .filter(({ subject }) => consumersOf(subject) !== undefined)
  const seen = new Set(events.map(({ event_id: id }) => id))
  const rejected = new Set<string>()
  for (const [client, own] of eventsByClient(consumersOf, events)) {
    const ids = own.map(({ event_id: id }) => id)
    // Not logged here: the loop over rows, which asks next, reports a consumer that cannot be reached.
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
    const eventIds = ids.slice(at, at + pageIds)
    const { known } = await client.seen({ eventIds }, { timeoutMs: directTimeoutMs })
    for (const { eventId, state } of known) states.set(eventId, state)
  }
  return states
}
