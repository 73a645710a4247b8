// What the page Now shows of the metrics: backlogs with their ages, and the alerts of the shipped rules that one metric decides.

/** Values of a metric that have these labels. */
export type Selector = { metric: string; labels?: Readonly<Record<string, string>> }

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
  by?: readonly string[]
  /** `age`: of a Unix time. `growth`: of a counter in the last hour, all replicas together. */
  as?: 'age' | 'growth'
  is: 'above' | 'below'
  limit: number
  forS: number
  /** Name of its file in docs/runbooks. */
  runbook: string
}

/** Counted by the reader itself: replicas of a part that answered. */
export const repliesMetric = 'up'

type Condition = Pick<Rule, 'of' | 'is' | 'limit' | 'by' | 'as'>

function above(limit: number, ...of: Selector[]): Condition {
  return { of, is: 'above', limit }
}

function below(limit: number, metric: string): Condition {
  return { of: [{ metric }], is: 'below', limit }
}

const metric = (name: string, labels?: Selector['labels']): Selector =>
  labels === undefined ? { metric: name } : { metric: name, labels }

const page = (alert: string, forS: number, condition: Condition, runbook: string): Rule => ({
  ...condition,
  alert,
  severity: 'page',
  forS,
  runbook,
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

export const rules: readonly Rule[] = [
  page('PayweavePartDown', 180, below(1, repliesMetric), 'part-down'),
  page(
    'PayweaveDatabaseConnectionsShort',
    300,
    above(8, connections),
    'database-connections-short',
  ),
  ticket('PayweaveEventLoopSlow', 600, above(0.45, eventLoop), 'event-loop-slow'),
  page('PayweaveJetStreamDown', 120, below(1, 'payweave_jetstream_up'), 'jetstream-down'),
  page('PayweaveEventsNotConfirmed', 300, above(120, unconfirmed), 'events-not-confirmed'),
  page('PayweaveEventsRefused', 60, above(0, ...deadLetters), 'events-refused'),
  page('PayweaveLedgerBroken', 0, above(0, metric('payweave_ledger_findings')), 'ledger-broken'),
  ticket(
    'PayweaveLedgerNotChecked',
    600,
    { ...above(1_800, checked), as: 'age' },
    'ledger-not-checked',
  ),
  page('PayweaveSettlementsRefused', 60, above(0, refused), 'settlements-refused'),
  ticket('PayweaveSettlementsNotCompared', 300, above(600, compared), 'settlements-not-compared'),
  page(
    'PayweaveBackEndSilent',
    300,
    { ...above(900, ...backEndTasks), by: ['kind'] },
    'back-end-silent',
  ),
  ticket('PayweaveRefundsFail', 0, { ...above(0, refundsFailed), as: 'growth' }, 'refunds-fail'),
  ticket('PayweaveRefundsUnreported', 300, above(259_200, unreported), 'refunds-unreported'),
  page('PayweaveTransfersStuck', 0, { ...above(0, stuck), as: 'growth' }, 'transfers-stuck'),
  page('PayweaveTransactionsWait', 300, above(300, claimed), 'transactions-wait'),
  ticket('PayweaveQuotesHeld', 300, above(600, reserved), 'quotes-held'),
  ticket('PayweaveBillsWaitForPeople', 600, above(14_400, reviews), 'bills-wait-for-people'),
  page('PayweaveBillsWaitForLedger', 900, above(0, billing('ledger')), 'bills-wait-for-ledger'),
  ticket('PayweaveBillersSilent', 900, above(50, billing('biller')), 'billers-silent'),
  ticket(
    'PayweaveKeyOld',
    1_800,
    { ...above(366 * 86_400, currentKeys), by: ['file'], as: 'age' },
    'key-old',
  ),
]
