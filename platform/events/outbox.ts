// The outbox of a producer: starts the loops that publish its events and confirm them with their consumers.
import type { Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { startConfirmer, startDirectConfirmer } from './confirmer.ts'
import { outboxMetrics } from './event-metrics.ts'
import type { Nats } from './nats/nats.ts'
import { type ClaimedEvent, deleteConfirmed, markPublished } from './outbox-store.ts'
import { type CommittedEvent, startPublisher } from './publisher.ts'
import { startRetention } from './retention.ts'
import type { InboxClient } from './without-broker.ts'

export {
  insertEvent,
  leasedUntil,
  type OutboxEvent,
  outboxColumns,
  outboxParameters,
  outboxValues,
} from './outbox-store.ts'
export type { CommittedEvent } from './publisher.ts'
export type { InboxClient } from './without-broker.ts'

/**
 * By subject, the consumers that must confirm its events. Events without consumers end when the broker has acknowledged
 * them.
 */
export type Subjects = Record<string, { consumers: Record<string, InboxClient> }>

export type OutboxOptions = {
  db: Database
  nats: Nats
  subjects: Subjects
  log: Logger
  metrics: Registry
  /** Replaces the clock of the process, in milliseconds. */
  nowMs?: () => number
}

export interface Outbox {
  /** Call it after a commit that wrote an event. Many calls make one round. Never throws. */
  notify: () => void
  /**
   * Call it after a commit that inserted an event already leased to this process: faster and cheaper than `notify`.
   * Never throws.
   */
  publish: (event: CommittedEvent) => void
  /** Stops after the current batch. Close it before the broker and the database. Never rejects. */
  close(): Promise<void>
}

/**
 * Starts publisher, confirmers and retention, which need neither broker nor database to be up. Every replica runs them;
 * rows claimed by one are skipped by the others.
 */
export function startOutbox(options: OutboxOptions): Outbox {
  const { db, nats, subjects, log, metrics: registry, nowMs = () => performance.now() } = options
  const metrics = outboxMetrics({ metrics: registry, db })
  const consumers = byConsumer(subjects)
  const needs = consumers.flatMap(({ name, subjects }) =>
    subjects.map((subject) => ({ subject, consumer: name })),
  )
  const confirmers = consumers.map((consumer) =>
    startConfirmer({ db, log, metrics, consumer, needs }),
  )
  // An undeclared subject was written by another release, which knows its consumers, so this one does not end the event.
  const unconsumed = new Set(
    Object.entries(subjects)
      .filter(([, { consumers }]) => Object.keys(consumers).length === 0)
      .map(([subject]) => subject),
  )

  /** Updates the rows of published events: an event without consumers ends, the others wait for their confirmation. */
  async function record(published: readonly ClaimedEvent[]): Promise<void> {
    if (published.length === 0) return
    const rows = published.map(({ event_id: eventId, attempts, subject }) => ({
      eventId,
      attempts,
      ends: unconsumed.has(subject),
    }))
    await markPublished(db, rows)
    const ended = rows.filter((row) => row.ends).length
    metrics.confirmed.inc(ended)
    if (ended < rows.length) for (const confirmer of confirmers) confirmer.expect()
  }

  const consumersOf = (subject: string) => subjects[subject]?.consumers
  const direct = startDirectConfirmer({ db, log, metrics, consumersOf, record, nowMs })
  const publisher = startPublisher({
    db,
    nats,
    log,
    metrics,
    consumed: new Set(needs.map(({ subject }) => subject)),
    consumersOf,
    record,
    onDirect: direct.expect,
    nowMs,
  })
  const retention = startRetention({ db, log, deleteOld: deleteConfirmed })
  return {
    notify: publisher.notify,
    publish: publisher.publish,
    async close() {
      // Closed first, because it passes events on to the confirmer.
      await publisher.close()
      await Promise.all([direct, retention, ...confirmers].map((part) => part.close()))
    },
  }
}

function byConsumer(
  subjects: Subjects,
): { name: string; subjects: string[]; client: InboxClient }[] {
  const byName = new Map<string, { name: string; subjects: string[]; client: InboxClient }>()
  for (const [subject, { consumers }] of Object.entries(subjects)) {
    for (const [name, client] of Object.entries(consumers)) {
      const known = byName.get(name)
      if (known === undefined) byName.set(name, { name, subjects: [subject], client })
      else known.subjects.push(subject)
    }
  }
  return [...byName.values()]
}
