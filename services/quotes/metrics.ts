// Metrics of quotes. No label comes from a request.
import { Counter, Gauge, type Registry } from 'prom-client'
import { sharedRead } from '#platform/telemetry/metrics.ts'
import type { QuoteKind } from './domain/quote.ts'

/** What quotes counts. */
export type QuoteMetrics = {
  made(kind: QuoteKind): void
  ended(what: 'reserved' | 'confirmed' | 'released'): void
  asked(outcome: 'fresh' | 'stale' | 'refused' | 'failed'): void
}

/** Counters of a registry, and gauges of the reservations that wait, read at each scrape. */
export function quoteMetrics(
  registry: Registry,
  backlog: () => Promise<{ open: number; oldestS: number }>,
): QuoteMetrics {
  const registers = [registry]
  const made = new Counter({
    name: 'payweave_quotes_created_total',
    help: 'Quotes created, by route.',
    labelNames: ['kind'] as const,
    registers,
  })
  const moved = new Counter({
    name: 'payweave_quotes_transitions_total',
    help: 'Reservations, confirmations and releases of quotes.',
    labelNames: ['kind'] as const,
    registers,
  })
  const asked = new Counter({
    name: 'payweave_quotes_rate_requests_total',
    help: 'Requests to the source of exchange rates, by outcome.',
    labelNames: ['outcome'] as const,
    registers,
  })
  const read = sharedRead(backlog)
  void new Gauge({
    name: 'payweave_quotes_reservation_oldest_seconds',
    help: 'Age of the oldest reservation whose transfer has not ended. Alert if it exceeds a few minutes.',
    registers,
    async collect() {
      this.set((await read()).oldestS)
    },
  })
  void new Gauge({
    name: 'payweave_quotes_reservations_open',
    help: 'Reservations whose transfer has not ended.',
    registers,
    async collect() {
      this.set((await read()).open)
    },
  })
  return {
    made: (kind) => made.inc({ kind }),
    ended: (kind) => moved.inc({ kind }),
    asked: (outcome) => asked.inc({ outcome }),
  }
}
