// Metrics of payments. No label comes from a request.
import { Counter, type Registry } from 'prom-client'
import { type Backlog, backlogMetrics } from '#platform/telemetry/metrics.ts'
import type { TransitionKind } from './domain/transition.ts'

/** What payments counts. */
export type PaymentMetrics = {
  created(fraudCheckStatus: string): void
  moved(kind: TransitionKind): void
  refundFailed(): void
}

/** Counters of a registry, and gauges of the work that waits, read at each scrape. */
export function paymentMetrics(
  registry: Registry,
  backlog: () => Promise<Backlog[]>,
): PaymentMetrics {
  const created = new Counter({
    name: 'payweave_payments_created_total',
    help: 'Payment requests stored, by outcome of the fraud rules.',
    labelNames: ['fraud_check_status'] as const,
    registers: [registry],
  })
  const moved = new Counter({
    name: 'payweave_payments_transitions_total',
    help: 'Transitions of payment requests by kind.',
    labelNames: ['kind'] as const,
    registers: [registry],
  })
  const refundsFailed = new Counter({
    name: 'payweave_payments_refunds_failed_total',
    help: 'Refunds that the back end rejected permanently: an operator must act.',
    registers: [registry],
  })
  backlogMetrics(registry, 'payments', backlog)
  return {
    created: (fraudCheckStatus) => created.inc({ fraud_check_status: fraudCheckStatus }),
    moved: (kind) => moved.inc({ kind }),
    refundFailed: () => refundsFailed.inc(),
  }
}
