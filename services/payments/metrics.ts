// Metrics of payments. A label has one of a few values: names of our own, connectors of the settings, ISO 4217 codes.
import { Counter, Gauge, type Registry } from 'prom-client'
import { type Backlog, backlogMetrics } from '#platform/telemetry/metrics.ts'
import type { RouteKey } from './domain/routing.ts'
import type { TransitionKind } from './domain/transition.ts'

type FellBack = Pick<RouteKey, 'kind' | 'currency'> & { connector: string; fallback: string }

/** What payments counts. */
export type PaymentMetrics = {
  created(fraudCheckStatus: string): void
  moved(kind: TransitionKind): void
  refundFailed(): void
  /** A charge or payout moved from `connector`, which certainly received nothing, to `fallback`. */
  fellBack(moved: FellBack): void
}

/** Counters of a registry, and gauges of the work that waits, read at each scrape. */
export function paymentMetrics(
  registry: Registry,
  waiting: {
    backlog: () => Promise<Backlog[]>
    /** Age in seconds of the oldest refund without an outcome. */
    oldestUnreportedRefundS: () => Promise<number>
  },
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
  const fallbacks = new Counter({
    name: 'payweave_payments_fallbacks_total',
    help: 'Charges and payouts that went to another connector (`fallback`) because theirs certainly received nothing, by kind and currency.',
    labelNames: ['kind', 'connector', 'fallback', 'currency'] as const,
    registers: [registry],
  })
  void new Gauge({
    name: 'payweave_payments_refund_unreported_oldest_seconds',
    help: 'Age of the oldest refund whose outcome the back end has not reported. Alert if it exceeds a few days.',
    registers: [registry],
    async collect() {
      this.set(await waiting.oldestUnreportedRefundS())
    },
  })
  backlogMetrics(registry, 'payments', waiting.backlog)
  return {
    created: (fraudCheckStatus) => created.inc({ fraud_check_status: fraudCheckStatus }),
    moved: (kind) => moved.inc({ kind }),
    refundFailed: () => refundsFailed.inc(),
    fellBack: ({ kind, connector, fallback, currency }) =>
      fallbacks.inc({ kind, connector, fallback, currency }),
  }
}
