// Metrics of a connector, beside those of the platform.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { WorkCount } from './domain/work.ts'

/**
 * Shows work that waits, fails or is dead by kind, read by `count` at each scrape. Alerts are raised on dead work and on work that
 * fails for long.
 */
export function workMetrics(
  registry: Registry,
  count: () => Promise<WorkCount[]>,
  kinds: readonly string[],
): void {
  const gauge = (name: string, help: string, read: Exclude<keyof WorkCount, 'kind'>) =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'] as const,
      registers: [registry],
      async collect() {
        const counted = new Map((await count()).map((row) => [row.kind, row[read]]))
        for (const kind of kinds) this.set({ kind }, counted.get(kind) ?? 0)
      },
    })
  gauge('payweave_connector_work_waiting', 'Work that is not done yet, by kind.', 'waiting')
  gauge(
    'payweave_connector_work_dead',
    'Work that was refused permanently, by kind: an operator must act.',
    'dead',
  )
  gauge(
    'payweave_connector_work_failing_oldest_seconds',
    'How long every try of the oldest failing work has failed, by kind; 0 when none fails.',
    'failingS',
  )
}

/** Outcome of a request to the webhook port. */
export type WebhookOutcome =
  | 'stored'
  | 'duplicate'
  | 'bad_signature'
  | 'malformed'
  | 'hint'
  | 'hint_limited'

/** Counts webhooks and callbacks by outcome. */
export function webhookMetrics(registry: Registry): (outcome: WebhookOutcome) => void {
  const counter = new Counter({
    name: 'payweave_connector_webhooks_total',
    help: 'Webhooks and callbacks of the provider, by outcome: stored, duplicate, bad_signature, malformed, hint, or hint_limited and not used.',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  return (outcome) => counter.inc({ outcome })
}
