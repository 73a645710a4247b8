// What the page Now shows of the metrics: backlogs with their ages, and the alerts of the shipped rules that one metric decides.

/** Values of a metric that have these labels; an expression matches the whole label. */
export type Selector = { metric: string; labels?: Readonly<Record<string, string | RegExp>> }

/** One line of the page: the highest value of any replica. */
export type Backlog = Selector & { label: string; isAge?: boolean }

/** How long what waits has waited, and how much of it there is. */
export const backlogs: readonly Backlog[] = [
  { label: 'Requests in flight', metric: 'payweave_http_requests_in_flight' },
  { label: 'Events not confirmed', metric: 'payweave_outbox_unconfirmed' },
  ageOf('Oldest event not confirmed', 'payweave_outbox_oldest_unconfirmed_seconds'),
  ageOf('Oldest push that is due', 'payweave_delivery_oldest_due_seconds'),
  { label: 'Receivers with an open breaker', metric: 'payweave_delivery_open_breakers' },
  { label: 'Calls of payments to the back end', metric: 'payweave_payments_tasks_open' },
  ageOf('Oldest call of payments', 'payweave_payments_task_oldest_seconds'),
  ageOf('Oldest call of accounts', 'payweave_accounts_task_oldest_seconds'),
  ageOf('Oldest refund without an outcome', 'payweave_payments_refund_unreported_oldest_seconds'),
  bills('Bills that wait for a biller', 'biller'),
  bills('Bills that wait for the ledger', 'ledger'),
  ageOf('Oldest bill in review', 'payweave_billing_review_oldest_seconds'),
  { label: 'Transactions of institutions', metric: 'payweave_institution_open' },
  ageOf('Oldest transaction', 'payweave_institution_open_oldest_seconds'),
  ageOf('Oldest quote in reserve', 'payweave_quotes_reservation_oldest_seconds'),
  ageOf('Ledger last compared', 'payweave_ledger_settlements_compared_age_seconds'),
]

function ageOf(label: string, metric: string): Backlog {
  return { label, metric, isAge: true }
}

function bills(label: string, what: string): Backlog {
  return { label, metric: 'payweave_billing_waiting', labels: { for: what } }
}

/**
 * A rule of deploy/k8s/components/monitoring/alerts.yaml: it fires when its condition has held for `forS`. The condition is on
 * the highest value of the replicas of a part, apart by the labels `by`; a test compares the two files.
 */
export type Rule = {
  alert: string
  severity: 'page' | 'ticket'
  /** Any of these. */
  of: readonly Selector[]
  /** What a `share` is of. */
  whole?: Selector
  by?: readonly string[]
  as?: View
  /** How long `growth`, `share` and `fall` look back, at most an hour, which it is unless it is given. */
  overS?: number
  is: 'above' | 'below'
  limit: number
  forS: number
}

/**
 * What the condition is on, where it is not the value itself. `age`: of a Unix time. `growth`: of a counter, all replicas together.
 * `share`: the growth of a counter in that of `whole`. `fall`: from the highest value to this one. `kinds`: how
 * many values the label `key_id` has.
 */
type View = 'age' | 'growth' | 'share' | 'fall' | 'kinds'

/** The name of the runbook of an alert, in a folder of docs/runbooks: `part-down` of PayweavePartDown. */
export function runbookOf(alert: string): string {
  const words =
    alert
      .replace('Payweave', '')
      .replace('JetStream', 'Jetstream')
      .match(/[A-Z][a-z]+/g) ?? []
  return words.join('-').toLowerCase()
}

/** Counted by the reader itself: replicas of a part that answered. */
export const repliesMetric = 'up'

type Condition = Pick<Rule, 'of' | 'whole' | 'is' | 'limit' | 'by' | 'as' | 'overS'>

function above(limit: number, ...of: Selector[]): Condition {
  return { of, is: 'above', limit }
}

function below(limit: number, ...of: Selector[]): Condition {
  return { of, is: 'below', limit }
}

/** A condition on the share in another counter, both as they grew in five minutes. */
function shareIn(whole: string, condition: Condition): Condition {
  return { ...condition, whole: metric(whole), as: 'share', overS: 300 }
}

/** A quantile of a histogram is above one of its bounds: too few were below it. */
function quantileAbove(histogram: string, quantile: number, bound: string): Condition {
  const fast = metric(`${histogram}_bucket`, { le: bound })
  return shareIn(`${histogram}_count`, below(quantile, fast))
}

const metric = (name: string, labels?: Selector['labels']): Selector =>
  labels === undefined ? { metric: name } : { metric: name, labels }

const page = (alert: string, forS: number, condition: Condition): Rule => ({
  ...condition,
  alert,
  severity: 'page',
  forS,
})
const ticket: typeof page = (...rule) => ({ ...page(...rule), severity: 'ticket' })

const billing = (what: string) => metric('payweave_billing_waiting', { for: what })
const currentKeys = metric('payweave_key_made_time_seconds', { state: 'current' })
const backEndTasks = [
  metric('payweave_payments_task_oldest_seconds'),
  metric('payweave_accounts_task_oldest_seconds'),
]
const deadLetters = [metric('payweave_outbox_dead_letters'), metric('payweave_inbox_dead_letters')]
const connections = metric('payweave_db_connections', { state: 'waiting' })
const eventLoop = metric('nodejs_eventloop_lag_p99_seconds')
const unconfirmed = metric('payweave_outbox_oldest_unconfirmed_seconds')
const checked = metric('payweave_ledger_check_time_seconds')
const compared = metric('payweave_ledger_settlements_compared_age_seconds')
const refused = metric('payweave_ledger_settlements_refused')
const refundsFailed = metric('payweave_payments_refunds_failed_total')
const unreported = metric('payweave_payments_refund_unreported_oldest_seconds')
const stuck = metric('payweave_institution_transfers_stuck_total')
const claimed = metric('payweave_institution_open_oldest_seconds', { state: 'claimed' })
const reserved = metric('payweave_quotes_reservation_oldest_seconds')
const reviews = metric('payweave_billing_review_oldest_seconds')

const retried = metric('payweave_inbox_retried_total')
const blocked = metric('payweave_delivery_egress_blocks_total')
const ready = metric('payweave_delivery_oldest_ready_seconds')
const givenUp = metric('payweave_delivery_ended_total', { state: 'exhausted' })
const rounding = metric('payweave_ledger_fx_rounding_minor_units')
const workDead = metric('payweave_connector_work_dead')
const workFails = metric('payweave_connector_work_failing_oldest_seconds')
const requests = 'payweave_http_requests_total'
const failed = metric(requests, { status: /^5..$/ })
const calls = 'payweave_rpc_duration_seconds_count'
const callsFailed = metric(calls, { code: /^(internal|unknown|data_loss)$/ })
const rates = 'payweave_quotes_rate_requests_total'
const stale = metric(rates, { outcome: /^(failed|stale)$/ })

/** Those of connectors hold only where METRICS_URLS names the connector. */
export const rules: readonly Rule[] = [
  page('PayweavePartDown', 180, below(1, metric(repliesMetric))),
  page('PayweaveDatabaseDown', 120, below(1, metric('payweave_db_up'))),
  page('PayweaveDatabaseConnectionsShort', 300, above(8, connections)),
  ticket('PayweaveEventLoopSlow', 600, above(0.45, eventLoop)),
  page('PayweaveJetStreamDown', 120, below(1, metric('payweave_jetstream_up'))),
  page('PayweaveEventsNotConfirmed', 300, above(120, unconfirmed)),
  page('PayweaveEventsRefused', 60, above(0, ...deadLetters)),
  page('PayweaveLedgerBroken', 0, above(0, metric('payweave_ledger_findings'))),
  ticket('PayweaveLedgerNotChecked', 600, { ...above(1_800, checked), by: ['rule'], as: 'age' }),
  page('PayweaveSettlementsRefused', 60, above(0, refused)),
  ticket('PayweaveSettlementsNotCompared', 300, above(600, compared)),
  page('PayweaveBackEndSilent', 300, { ...above(900, ...backEndTasks), by: ['kind'] }),
  ticket('PayweaveRefundsFail', 0, { ...above(0, refundsFailed), as: 'growth' }),
  ticket('PayweaveRefundsUnreported', 300, above(259_200, unreported)),
  page('PayweaveTransfersStuck', 0, { ...above(0, stuck), as: 'growth' }),
  page('PayweaveTransactionsWait', 300, above(300, claimed)),
  ticket('PayweaveQuotesHeld', 300, above(600, reserved)),
  ticket('PayweaveBillsWaitForPeople', 600, above(14_400, reviews)),
  page('PayweaveBillsWaitForLedger', 900, above(0, billing('ledger'))),
  ticket('PayweaveBillersSilent', 900, above(50, billing('biller'))),
  ticket('PayweaveKeyOld', 1_800, { ...above(366 * 86_400, currentKeys), by: ['file'], as: 'age' }),
  ticket('PayweaveKeysDiffer', 900, { ...above(1, currentKeys), by: ['file'], as: 'kinds' }),
  // 0.1 a second.
  ticket('PayweaveIntakeRepeats', 900, { ...above(30, retried), as: 'growth', overS: 300 }),
  ticket('PayweavePushesBlocked', 0, {
    ...above(50, blocked),
    by: ['cause'],
    as: 'growth',
    overS: 900,
  }),
  page('PayweavePushesNotSent', 300, above(300, ready)),
  ticket('PayweavePushesGivenUp', 0, { ...above(100, givenUp), as: 'growth' }),
  page('PayweaveFxRoundingFalls', 0, { ...above(0, rounding), by: ['currency'], as: 'fall' }),
  page('PayweaveRequestsFail', 300, shareIn(requests, above(0.01, failed))),
  ticket(
    'PayweaveRequestsSlow',
    600,
    quantileAbove('payweave_http_request_duration_seconds', 0.99, '1'),
  ),
  page('PayweaveCallsFail', 300, shareIn(calls, above(0.005, callsFailed))),
  ticket('PayweaveRatesStale', 600, shareIn(rates, above(0.5, stale))),
  ticket(
    'PayweavePushesLate',
    600,
    quantileAbove('payweave_delivery_first_post_seconds', 0.95, '5'),
  ),
  page('PayweaveConnectorWorkDead', 0, { ...above(0, workDead), by: ['kind'] }),
  page('PayweaveConnectorWorkFails', 300, { ...above(900, workFails), by: ['kind'] }),
]

/**
 * The shipped rules that need Prometheus: for what it scrapes, for metrics of other exporters, for series that begin, and for what two
 * growths decide.
 */
export const rulesOfPrometheus: readonly string[] = [
  'PayweavePartsNotScraped',
  'PayweaveConsoleDown',
  'PayweaveFallbackUsed',
  'PayweaveFxRoundingGrows',
  'PayweaveCertificateExpires',
  'PayweaveCertificatesNotScraped',
  'PayweaveNatsServerDown',
  'PayweaveNatsFilesRefused',
  'PayweaveStreamControllerDown',
  'PayweavePostgresStandbyLost',
  'PayweavePostgresVolumeFills',
  'PayweavePostgresVolumesNotScraped',
  'PayweaveLogNotArchived',
  'PayweaveBackupOld',
  'PayweaveRestoreDrillOld',
]
