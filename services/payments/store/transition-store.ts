// Writes the decisions of a batch of changes.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import type { Decision } from '../domain/decision.ts'
import { addPath, roundsOf } from '../domain/moves.ts'
import {
  type Payee,
  type Payer,
  type Payment,
  payerMachine,
  paymentMachine,
  payoutMachine,
} from '../domain/payment.ts'
import { expiryCheckTime, type Transition } from '../domain/transition.ts'
import {
  arraysOf,
  type Column,
  insertRows,
  type OfTransition,
  type PaymentEvent,
} from './transition-row-store.ts'

// `u` has the new values of rows. Each row is updated only if it still has the state in which it was read. The connector of a row
// is never overwritten here: only `moveCalls` (task-store.ts) changes it.
const updatePayments = sql(
  'payment_update',
  `update payment set state = u.to_state::payment_state, callback_sequence = u.callback_sequence,
     update_time = u.update_time, expiry_check_time = u.expiry_check_time
   from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[],
     $7::timestamptz[])
     as u (project_id, payment_id, from_state, to_state, callback_sequence, update_time,
       expiry_check_time)
   where payment.project_id = u.project_id and payment.payment_id = u.payment_id
     and payment.state = u.from_state::payment_state`,
)

const updatePayers = sql(
  'payer_update',
  `update payer set state = u.to_state::payer_state, refused_attempts = u.refused_attempts,
     attempt_id = u.attempt_id, receipt_id = u.receipt_id,
     payment_method = u.payment_method::payment_method
   from unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::text[], $6::uuid[],
     $7::text[])
     as u (payer_id, from_state, to_state, refused_attempts, attempt_id, receipt_id, payment_method)
   where payer.payer_id = u.payer_id and payer.state = u.from_state::payer_state`,
)

const updatePayees = sql(
  'payee_update',
  `update payee set payout_state = u.to_state::payout_state, release_time = u.release_time,
     connector = coalesce(payee.connector, u.connector)
   from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
     as u (payee_id, from_state, to_state, release_time, connector)
   where payee.payee_id = u.payee_id and payee.payout_state = u.from_state::payout_state`,
)

const insertRefunds = sql(
  'refund_insert',
  `insert into refund (refund_id, project_id, payment_id, payer_id, amount_minor, currency,
     create_time)
   select refund_id, project_id, payment_id, payer_id, amount_minor, currency, create_time
   from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::bigint[], $6::text[],
     $7::timestamptz[])
     as r (refund_id, project_id, payment_id, payer_id, amount_minor, currency, create_time)`,
)

const insertAttempts = sql(
  'attempt_insert',
  `insert into attempt (attempt_id, project_id, payment_id, payer_id, connector, create_time,
     next_enquiry_time)
   select attempt_id, project_id, payment_id, payer_id, connector, create_time,
     clock_now() + lease_ms * interval '1 millisecond'
   from unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::integer[],
     $7::timestamptz[])
     as a (attempt_id, project_id, payment_id, payer_id, connector, lease_ms, create_time)`,
)

// An attempt of another payer stays open, even if a report names it.
const endAttempts = sql(
  'attempt_end',
  `update attempt set next_enquiry_time = null
   from unnest($1::text[], $2::uuid[]) as a (attempt_id, payer_id)
   where attempt.attempt_id = a.attempt_id and attempt.payer_id = a.payer_id
     and attempt.next_enquiry_time is not null`,
)

const endRefunds = sql(
  'refund_end',
  `update refund set state = r.state::refund_state, end_time = r.time,
     completed_time = case r.state when 'completed' then r.time else refund.completed_time end
   from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as r (refund_id, state, time)
   where refund.refund_id = r.refund_id
     and (refund.state = 'sent' or (refund.state = 'completed' and r.state = 'failed'))`,
)

const insertReasons = sql(
  'refund_reason_insert',
  `insert into refund_reason (payment_id, project_id, reason, create_time)
   select payment_id, project_id, reason, business_now()
   from unnest($1::uuid[], $2::uuid[], $3::text[]) as r (payment_id, project_id, reason)`,
)

/**
 * Writes decisions in the transaction that holds the locks of their payments, in one round trip; those of one payment in
 * their order. Each row is changed only from the state in which it was read; StaleRow is thrown, and all of it rolled
 * back, if one is not. Events and tasks are leased to this process.
 */
export async function writeDecisions(
  tx: Queryable,
  decisions: readonly Decision[],
  events: readonly PaymentEvent[],
): Promise<void> {
  const transitions = decisions.flatMap(({ transition }) => transition ?? [])
  await Promise.all([
    ...writeStates(tx, transitions),
    insertRows(tx, {
      settlements: eachOf(transitions, ({ settlements }) => settlements),
      tasks: eachOf(transitions, ({ tasks }) => tasks),
      reports: decisions.flatMap(({ report }) => report ?? []),
      events,
    }),
    writeRefunds(tx, transitions),
    ...writeAttempts(tx, decisions),
  ])
}

/** A row is no longer in the state in which it was read: something changed it without the lock of its payment. */
export class StaleRow extends Error {
  constructor() {
    super('a row is not in the state in which it was read')
  }
}

/** Runs a statement unless there are no rows; returns the number of rows that it wrote. */
async function write<T>(
  tx: Queryable,
  statement: Sql,
  rows: readonly T[],
  columns: Column<T>[],
): Promise<number> {
  return rows.length === 0 ? 0 : tx.run(statement, arraysOf(rows, columns))
}

/** Like `write`. Throws StaleRow unless every row was written. */
async function writeEach<T>(...args: Parameters<typeof write<T>>): Promise<void> {
  const [, , rows] = args
  if ((await write(...args)) !== rows.length) throw new StaleRow()
}

/** Updates payments, payers and payees to their states after the last of their transitions, in the rounds of `roundsOf`. */
function writeStates(tx: Queryable, transitions: readonly Transition[]): Promise<void>[] {
  const payments = new Map<string, Payment>()
  const payers = new Map<string, Payer>()
  const payees = new Map<string, Payee>()
  const paths = {
    payments: new Map<string, Payment['state'][]>(),
    payers: new Map<string, Payer['state'][]>(),
    payees: new Map<string, Payee['payoutState'][]>(),
  }
  for (const { payment, fromState, now, ...moved } of transitions) {
    payments.set(payment.paymentId, payment)
    for (const payer of payment.payers) payers.set(payer.payerId, payer)
    for (const payee of payment.payees) payees.set(payee.payeeId, payee)
    // The transition of a payout does not change the row of the request.
    const isNew = payment.updateTime === now || payment.state !== fromState
    if (isNew) addPath(paths.payments, payment.paymentId, [fromState, payment.state])
    for (const [id, path] of moved.payers) addPath(paths.payers, id, path)
    for (const [id, path] of moved.payees) addPath(paths.payees, id, path)
  }
  return [
    ...roundsOf(paths.payments, paymentMachine).map((moves) =>
      writeEach(tx, updatePayments, withRows(moves, payments), [
        ['uuid', ({ row }) => row.projectId],
        ['uuid', ({ row }) => row.paymentId],
        ['text', ({ from }) => from],
        ['text', ({ to }) => to],
        ['integer', ({ row }) => row.callbackSequence],
        ['timestamptz', ({ row }) => row.updateTime],
        ['timestamptz', ({ row }) => expiryCheckTime(row)],
      ]),
    ),
    ...roundsOf(paths.payers, payerMachine).map((moves) =>
      writeEach(tx, updatePayers, withRows(moves, payers), [
        ['uuid', ({ id }) => id],
        ['text', ({ from }) => from],
        ['text', ({ to }) => to],
        ['smallint', ({ row }) => row.refusedAttempts],
        ['text', ({ row }) => row.attemptId],
        ['uuid', ({ row }) => row.receiptId],
        ['text', ({ row }) => row.paymentMethod],
      ]),
    ),
    ...roundsOf(paths.payees, payoutMachine).map((moves) =>
      writeEach(tx, updatePayees, withRows(moves, payees), [
        ['uuid', ({ id }) => id],
        ['text', ({ from }) => from],
        ['text', ({ to }) => to],
        ['timestamptz', ({ row }) => row.releaseTime],
        ['text', ({ row }) => row.connector],
      ]),
    ),
  ]
}

function withRows<M extends { id: string }, R>(
  moves: M[],
  rows: Map<string, R>,
): (M & { row: R })[] {
  return moves.map((move) => {
    const row = rows.get(move.id)
    if (row === undefined) throw new Error('a transition moves a row of another payment')
    return { ...move, row }
  })
}

/** Some rows of transitions, each with the payment and the time of its transition. */
function eachOf<T>(
  transitions: readonly Transition[],
  read: (transition: Transition) => readonly T[],
): OfTransition<T>[] {
  return transitions.flatMap((transition) => {
    const { payment, now } = transition
    return read(transition).map((row) => ({ ...row, payment, now }))
  })
}

function writeRefunds(tx: Queryable, transitions: readonly Transition[]): Promise<unknown> {
  return write(
    tx,
    insertRefunds,
    eachOf(transitions, ({ refunds }) => refunds),
    [
      ['uuid', (row) => row.refundId],
      ['uuid', (row) => row.payment.projectId],
      ['uuid', (row) => row.payment.paymentId],
      ['uuid', (row) => row.payerId],
      ['bigint', (row) => row.amountMinor],
      ['text', (row) => row.payment.currency],
      ['timestamptz', (row) => row.now],
    ],
  )
}

/** Attempts of ours, refunds that have ended, and the reasons of new ones. */
function writeAttempts(tx: Queryable, decisions: readonly Decision[]): Promise<unknown>[] {
  return [
    write(
      tx,
      insertAttempts,
      decisions.flatMap(({ begins }) => begins ?? []),
      [
        ['text', (row) => row.attemptId],
        ['uuid', (row) => row.projectId],
        ['uuid', (row) => row.paymentId],
        ['uuid', (row) => row.payerId],
        ['text', (row) => row.connector],
        ['integer', (row) => row.leaseMs],
        ['timestamptz', (row) => row.time],
      ],
    ),
    write(
      tx,
      endAttempts,
      decisions.flatMap(({ ends }) => ends ?? []),
      [
        ['text', (row) => row.attemptId],
        ['uuid', (row) => row.payerId],
      ],
    ),
    writeEach(
      tx,
      endRefunds,
      decisions.flatMap(({ refunded }) => refunded ?? []),
      [
        ['uuid', (row) => row.refundId],
        ['text', (row) => row.outcome],
        ['timestamptz', (row) => row.time],
      ],
    ),
    write(
      tx,
      insertReasons,
      decisions.flatMap(({ reason }) => reason ?? []),
      [
        ['uuid', (row) => row.paymentId],
        ['uuid', (row) => row.projectId],
        ['text', (row) => row.reason],
      ],
    ),
  ]
}
