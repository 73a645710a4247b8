// Inserts the rows that most changes write: settlements, tasks, reports of the back end, and events.
import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import { leasedUntil } from '#platform/events/outbox.ts'
import type { Decision } from '../domain/decision.ts'
import type { StoredEvent } from '../domain/stored-event.ts'
import type { Transition } from '../domain/transition.ts'
import { taskLeasedUntil } from './task-store.ts'

/** How a column of rows is sent, as an array. */
export type Column<T> = [ArrayType, (row: T) => unknown]

/** The parameters of a statement over rows: one array for each column. */
export function arraysOf<T>(rows: readonly T[], columns: Column<T>[]): Buffer[] {
  return columns.map(([type, read]) => arrayParameter(type, rows.map(read)))
}

/** A row that a transition writes, with the payment and the time of the transition. */
export type OfTransition<T> = T & Pick<Transition, 'payment' | 'now'>

/** An event of a payment, with the other columns of its row. */
export type PaymentEvent = StoredEvent & { projectId: string; occurredAt: Date }

/** Rows to insert. Each list may be empty. */
export type NewRows = {
  settlements: OfTransition<Transition['settlements'][number]>[]
  tasks: OfTransition<Transition['tasks'][number]>[]
  reports: NonNullable<Decision['report']>[]
  events: readonly PaymentEvent[]
}

type Columns = { [K in keyof NewRows]: Column<NewRows[K][number]>[] }

const columns: Columns = {
  settlements: [
    ['uuid', (row) => row.settlementId],
    ['uuid', (row) => row.payment.projectId],
    ['uuid', (row) => row.payment.paymentId],
    ['text', (row) => row.kind],
    ['uuid', (row) => row.payerId],
    ['uuid', (row) => row.payeeId],
    ['text', (row) => row.attemptId],
    ['uuid', (row) => row.reversesId],
    ['bigint', (row) => row.amountMinor],
    ['text', (row) => row.payment.currency],
    ['timestamptz', (row) => row.now],
  ],
  tasks: [
    ['uuid', (row) => row.subjectId],
    ['text', (row) => row.kind],
    ['uuid', (row) => row.payment.projectId],
    ['uuid', (row) => row.payment.paymentId],
    ['text', (row) => row.reason],
    ['timestamptz', (row) => row.now],
  ],
  reports: [
    ['uuid', (row) => row.payerId],
    ['text', (row) => row.attemptId],
    ['text', (row) => row.outcome],
    ['text', (row) => row.refusalReason],
    ['timestamptz', (row) => row.time],
  ],
  events: [
    ['uuid', (row) => row.eventId],
    ['text', (row) => row.subject],
    ['uuid', (row) => row.projectId],
    ['bytea', (row) => row.payload],
    ['text', (row) => row.traceparent],
    ['text', (row) => row.requestId],
    ['timestamptz', (row) => row.occurredAt],
  ],
}

/** Names the parameters of one statement, as arrays of the types of columns. */
type Name = (columns: readonly [ArrayType, unknown][]) => string

function nameParameters(): Name {
  let last = 0
  return (some) =>
    some
      .map(([type]) => {
        last += 1
        return `$${last}::${type}[]`
      })
      .join(', ')
}

const texts = {
  settlements: (name: Name) =>
    `insert into settlement (settlement_id, project_id, payment_id, kind, payer_id, payee_id,
       attempt_id, reverses_id, amount_minor, currency, create_time)
     select settlement_id, project_id, payment_id, kind::settlement_kind, payer_id, payee_id,
       attempt_id, reverses_id, amount_minor, currency, create_time
     from unnest(${name(columns.settlements)})
       as s (settlement_id, project_id, payment_id, kind, payer_id, payee_id, attempt_id,
         reverses_id, amount_minor, currency, create_time)`,
  tasks: (name: Name) =>
    `insert into task (subject_id, kind, project_id, payment_id, reason, create_time, next_time,
       attempts)
     select subject_id, kind::task_kind, project_id, payment_id, reason::payment_state, create_time,
       ${taskLeasedUntil}, 1
     from unnest(${name(columns.tasks)})
       as t (subject_id, kind, project_id, payment_id, reason, create_time)`,
  reports: (name: Name) =>
    `insert into charge_report (payer_id, attempt_id, outcome, refusal_reason, report_time)
     select payer_id, attempt_id, outcome::charge_outcome, refusal_reason, report_time
     from unnest(${name(columns.reports)})
       as r (payer_id, attempt_id, outcome, refusal_reason, report_time)`,
  events: (name: Name) =>
    `insert into outbox (event_id, subject, project_id, payload, traceparent, request_id,
       occurred_at, next_at)
     select event_id, subject, project_id, payload, traceparent, request_id, occurred_at,
       ${leasedUntil}
     from unnest(${name(columns.events)})
       as e (event_id, subject, project_id, payload, traceparent, request_id, occurred_at)`,
}

const alone = {
  settlements: sql('settlement_insert', texts.settlements(nameParameters())),
  tasks: sql('task_insert', texts.tasks(nameParameters())),
  reports: sql('charge_report_insert', texts.reports(nameParameters())),
  events: sql('event_insert', texts.events(nameParameters())),
}

const together = sql('change_insert', allTexts(nameParameters()))

function allTexts(name: Name): string {
  return `with settlements as (${texts.settlements(name)}), tasks as (${texts.tasks(name)}),
     reports as (${texts.reports(name)})
   ${texts.events(name)}`
}

/** Inserts rows by one statement; events and tasks are leased to this process. Rejects as a Queryable does. */
export async function insertRows(tx: Queryable, rows: NewRows): Promise<void> {
  const arrays = {
    settlements: arraysOf(rows.settlements, columns.settlements),
    tasks: arraysOf(rows.tasks, columns.tasks),
    reports: arraysOf(rows.reports, columns.reports),
    events: arraysOf(rows.events, columns.events),
  }
  const names = ['settlements', 'tasks', 'reports', 'events'] as const
  const some = names.filter((name) => rows[name].length > 0)
  const [only] = some
  if (only === undefined) return
  if (some.length === 1) await tx.run(alone[only], arrays[only])
  // In the order in which the statement names its parameters.
  else
    await tx.run(
      together,
      names.flatMap((name) => arrays[name]),
    )
}
