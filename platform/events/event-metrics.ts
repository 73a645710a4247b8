// Metrics of events between outbox and inbox.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { countPoison } from './inbox-store.ts'
import { countParked, countUnconfirmed, oldestUnendedS } from './outbox-store.ts'

export type OutboxMetrics = {
  published: Counter
  failed: Counter
  confirmed: Counter
  parked: Counter
}

type Source = { metrics: Registry; db: Database; log: Logger }

/** Counters of a producer; the gauges are read from the table at each scrape. */
export function outboxMetrics({ metrics, db, log }: Source): OutboxMetrics {
  const registers = [metrics]
  gauge(
    'payweave_outbox_oldest_unconfirmed_seconds',
    'Age of the oldest event that is neither confirmed nor parked; 0 when there is none.',
    { registers, log, read: () => oldestUnendedS(db) },
  )
  gauge(
    'payweave_outbox_unconfirmed',
    'Outbox minus inbox: events that not every consumer has confirmed, parked ones aside.',
    { registers, log, read: () => countUnconfirmed(db) },
  )
  gauge(
    'payweave_outbox_parked',
    'Events that a consumer refused for good and that wait for people.',
    { registers, log, read: () => countParked(db) },
  )
  return {
    published: counter('payweave_outbox_published_total', 'Publications acknowledged.', registers),
    failed: counter('payweave_outbox_publish_failed_total', 'Publications failed.', registers),
    confirmed: counter('payweave_outbox_confirmed_total', 'Events confirmed.', registers),
    parked: counter('payweave_outbox_parked_total', 'Events parked.', registers),
  }
}

export type InboxMetrics = {
  taken: Counter
  repeated: Counter
  retried: Counter
  poisoned: Counter
  delay: Histogram
}

/** Counters of a consumer; the gauge is read from the table at each scrape. */
export function inboxMetrics({ metrics, db, log }: Source): InboxMetrics {
  const registers = [metrics]
  gauge('payweave_inbox_poison', 'Messages in the poison table.', {
    registers,
    log,
    read: () => countPoison(db),
  })
  return {
    taken: counter('payweave_inbox_taken_total', 'Events taken in and worked on.', registers),
    repeated: counter('payweave_inbox_repeated_total', 'Messages of known events.', registers),
    retried: counter('payweave_inbox_retried_total', 'Messages given back for later.', registers),
    poisoned: counter('payweave_inbox_poisoned_total', 'Messages refused for good.', registers),
    delay: new Histogram({
      name: 'payweave_inbox_delay_seconds',
      help: 'From the commit of a fact to the end of the work on its event.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 3_600],
      registers,
    }),
  }
}

function counter(name: string, help: string, registers: Registry[]): Counter {
  return new Counter({ name, help, registers })
}

type Reading = { registers: Registry[]; log: Logger; read: () => Promise<number> }

function gauge(name: string, help: string, { registers, log, read }: Reading): void {
  void new Gauge({
    name,
    help,
    registers,
    async collect() {
      try {
        this.set(await read())
      } catch (error) {
        // If the database is down, the other metrics are still served.
        log.warn({ err: error }, 'metric not read')
      }
    },
  })
}
