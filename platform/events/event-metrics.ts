// Metrics of events between outbox and inbox.
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import { databaseGauge } from '#platform/telemetry/metrics.ts'
import { countDeadLetters } from './inbox-store.ts'
import { countDeadLettered, countUnconfirmed, oldestPendingS } from './outbox-store.ts'

export type OutboxMetrics = {
  published: Counter
  failed: Counter
  sentByRpc: Counter
  confirmed: Counter
  deadLettered: Counter
}

type Source = { metrics: Registry; db: Database }

/**
 * Registers the metrics of a producer. The gauges are read from the table at each scrape. Throws an Error when the
 * registry has metrics of these names.
 */
export function outboxMetrics({ metrics, db }: Source): OutboxMetrics {
  const registers = [metrics]
  databaseGauge(
    'payweave_outbox_oldest_unconfirmed_seconds',
    'Age of the oldest event that is neither confirmed nor a dead letter; 0 when there is none.',
    { registers, read: () => oldestPendingS(db) },
  )
  databaseGauge(
    'payweave_outbox_unconfirmed',
    'Outbox minus inbox: events that not every consumer has confirmed, without dead letters.',
    { registers, read: () => countUnconfirmed(db) },
  )
  databaseGauge(
    'payweave_outbox_dead_letters',
    'Dead letters of the outbox: events that a consumer rejected permanently.',
    { registers, read: () => countDeadLettered(db) },
  )
  return {
    published: counter('payweave_outbox_published_total', 'Publications acknowledged.', registers),
    failed: counter('payweave_outbox_publish_failed_total', 'Publications failed.', registers),
    sentByRpc: counter(
      'payweave_outbox_sent_by_rpc_total',
      'Events that their consumers processed by RPC, because the broker did not take them.',
      registers,
    ),
    confirmed: counter('payweave_outbox_confirmed_total', 'Events confirmed.', registers),
    deadLettered: counter(
      'payweave_outbox_dead_lettered_total',
      'Events that became dead letters.',
      registers,
    ),
  }
}

export type InboxMetrics = {
  processed: Counter
  duplicates: Counter
  retried: Counter
  deadLettered: Counter
  delay: Histogram
}

/**
 * Registers the metrics of a consumer. The gauge is read from the table at each scrape. Throws an Error when the registry
 * has metrics of these names.
 */
export function inboxMetrics({ metrics, db }: Source): InboxMetrics {
  const registers = [metrics]
  databaseGauge(
    'payweave_inbox_dead_letters',
    'Dead letters of the inbox: messages that were rejected permanently.',
    {
      registers,
      read: () => countDeadLetters(db),
    },
  )
  return {
    processed: counter('payweave_inbox_processed_total', 'Events processed.', registers),
    duplicates: counter(
      'payweave_inbox_duplicates_total',
      'Messages of events that were processed before.',
      registers,
    ),
    retried: counter(
      'payweave_inbox_retried_total',
      'Messages to be redelivered later.',
      registers,
    ),
    deadLettered: counter(
      'payweave_inbox_dead_lettered_total',
      'Messages that became dead letters.',
      registers,
    ),
    delay: new Histogram({
      name: 'payweave_inbox_delay_seconds',
      help: 'From the commit of an event to the end of its processing.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 3_600],
      registers,
    }),
  }
}

function counter(name: string, help: string, registers: Registry[]): Counter {
  return new Counter({ name, help, registers })
}
