// The outbox of a producer: starts what delivers the events that a service writes to their consumers.
import type { Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type SeenClient, startConfirmer } from './confirmer.ts'
import { type CommittedEvent, startDirectPublisher } from './direct-publisher.ts'
import { outboxMetrics } from './event-metrics.ts'
import type { Nats } from './nats/nats.ts'
import { deleteConfirmed } from './outbox-store.ts'
import { startRelay } from './relay.ts'
import { startRetention } from './retention.ts'

export type { SeenClient } from './confirmer.ts'
export type { CommittedEvent } from './direct-publisher.ts'
export {
  asyncCommit,
  insertEvent,
  leasedUntil,
  type OutboxEvent,
  outboxColumns,
  outboxParameters,
  outboxValues,
} from './outbox-store.ts'

/**
 * By subject, the consumers that must confirm its events. Events without consumers end when the broker has acknowledged
 * them.
 */
export type Subjects = Record<string, { consumers: Record<string, SeenClient> }>

export type OutboxOptions = {
  db: Database
  nats: Nats
  subjects: Subjects
  log: Logger
  metrics: Registry
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
 * Starts relay, direct publisher, confirmers and retention, which need neither broker nor database to be up. Every
 * replica runs them; rows claimed by one are skipped by the others.
 */
export function startOutbox({ db, nats, subjects, log, metrics: registry }: OutboxOptions): Outbox {
  const metrics = outboxMetrics({ metrics: registry, db, log })
  const consumers = consumersOf(subjects)
  const needs = consumers.flatMap(({ name, subjects }) =>
    subjects.map((subject) => ({ subject, consumer: name })),
  )
  const confirmers = consumers.map((consumer) =>
    startConfirmer({ db, log, metrics, consumer, needs }),
  )
  const onPublished = () => {
    for (const confirmer of confirmers) confirmer.expect()
  }
  const carrying = {
    db,
    nats,
    log,
    metrics,
    // An undeclared subject is another release's, which knows its consumers: it does not end here.
    endsWhenPublished: (subject: string) => {
      const declared = subjects[subject]
      return declared !== undefined && Object.keys(declared.consumers).length === 0
    },
    onPublished,
  }
  const relay = startRelay(carrying)
  const direct = startDirectPublisher({
    ...carrying,
    consumersOf: (subject) => subjects[subject]?.consumers,
  })
  const retention = startRetention({ db, log, deleteOld: deleteConfirmed })
  return {
    notify: relay.notify,
    publish: direct.publish,
    async close() {
      await Promise.all([relay, direct, retention, ...confirmers].map((part) => part.close()))
    },
  }
}

function consumersOf(
  subjects: Subjects,
): { name: string; subjects: string[]; client: SeenClient }[] {
  const byName = new Map<string, { name: string; subjects: string[]; client: SeenClient }>()
  for (const [subject, { consumers }] of Object.entries(subjects)) {
    for (const [name, client] of Object.entries(consumers)) {
      const known = byName.get(name)
      if (known === undefined) byName.set(name, { name, subjects: [subject], client })
      else known.subjects.push(subject)
    }
  }
  return [...byName.values()]
}
