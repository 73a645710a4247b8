// The outbox of a producer: what a service starts so that the events it writes reach their consumers. It must not
// write events by itself.
import type { Registry } from 'prom-client'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import { type SeenClient, startConfirmer } from './confirmer.ts'
import { outboxMetrics } from './event-metrics.ts'
import { type EventInHand, startInHand } from './in-hand.ts'
import type { Nats } from './nats.ts'
import { deleteConfirmed } from './outbox-store.ts'
import { startRelay } from './relay.ts'
import { startRetention } from './retention.ts'

export type { SeenClient } from './confirmer.ts'
export type { EventInHand } from './in-hand.ts'
export {
  inHandUntil,
  insertEvent,
  type OutboxEvent,
  outboxColumns,
  outboxParameters,
  outboxValues,
  unhurried,
} from './outbox-store.ts'

/** By subject, the consumers that must confirm its events. None: news, which ends when the broker has it. */
export type Subjects = Record<string, { consumers: Record<string, SeenClient> }>

export type OutboxOptions = {
  db: Database
  nats: Nats
  subjects: Subjects
  log: Logger
  metrics: Registry
}

export interface Outbox {
  /** Call it after a commit that wrote an event. Cheap; many calls make one round. */
  kick: () => void
  /** Call it after a commit that wrote an event as being in hand: the quickest and cheapest way of the two. */
  carry: (event: EventInHand) => void
  /** Stops, with the batch in hand finished. Close it before the broker and the database. */
  close(): Promise<void>
}

/** Starts relay, confirmers and retention. Every replica runs them; rows in one's hand are left by the others. */
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
    // A subject that nobody declared is one of another release, which knows who has to confirm.
    endsWhenPublished: (subject: string) => {
      const declared = subjects[subject]
      return declared !== undefined && Object.keys(declared.consumers).length === 0
    },
    onPublished,
  }
  const relay = startRelay(carrying)
  const inHand = startInHand({
    ...carrying,
    consumersOf: (subject) => subjects[subject]?.consumers,
  })
  const retention = startRetention({ db, log, deleteOld: deleteConfirmed })
  return {
    kick: relay.kick,
    carry: inHand.carry,
    async close() {
      await Promise.all([relay, inHand, retention, ...confirmers].map((part) => part.close()))
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
