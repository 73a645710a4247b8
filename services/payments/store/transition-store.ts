// Locks payments and writes their transitions.
import type { PayerState, PayoutState } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import { leasedUntil } from '#platform/events/outbox.ts'
import type { StoredEvent } from '../domain/stored-event.ts'
import { expiryCheckTime, type Transition } from '../domain/transition.ts'
import { type Reading, readPayment } from './payment-store.ts'

const lockStatement = sql(
  'payment_lock',
  'select 1 from payment where project_id = $1 and payment_id = $2 for no key update',
)

/**
 * Locks a payment's row until the end of the transaction, then reads the payment with the clock. Every
 * change of a payment holds this lock, so its payers and payees need none.
 */
export async function lockPayment(
  tx: Queryable,
  projectId: string,
  paymentId: string,
): Promise<Reading | undefined> {
  const [, reading] = await Promise.all([
    tx.run(lockStatement, [projectId, paymentId]),
    readPayment(tx, projectId, paymentId),
  ])
  return reading
}

/** Rows of `u` are payers as they are to be; each must stand where it was read. */
const writePayer = (first: number): string =>
  `update payer set state = u.to_state, refused_attempts = u.refused_attempts,
     attempt_id = u.attempt_id, receipt_id = u.receipt_id, payment_method = u.payment_method
   from unnest($${first}::uuid[], $${first + 1}::payer_state[], $${first + 2}::payer_state[],
     $${first + 3}::smallint[], $${first + 4}::text[], $${first + 5}::uuid[],
     $${first + 6}::payment_method[])
     as u(payer_id, from_state, to_state, refused_attempts, attempt_id, receipt_id, payment_method)
   where payer.payer_id = u.payer_id and payer.state = u.from_state`

/** Rows of `u` are payees as they are to be; each must stand where it was read. */
const writePayee = (first: number): string =>
  `update payee set payout_state = u.to_state, release_time = u.release_time
   from unnest($${first}::uuid[], $${first + 1}::payout_state[], $${first + 2}::payout_state[],
     $${first + 3}::timestamptz[])
     as u(payee_id, from_state, to_state, release_time)
   where payee.payee_id = u.payee_id and payee.payout_state = u.from_state`

const updatePayers = sql('payer_update', writePayer(1))
const updatePayees = sql('payee_update', writePayee(1))

const writeStatement = sql(
  'transition_write',
  `with moved as (
     update payment set state = $4, callback_sequence = $5, update_time = $6, expiry_check_time = $7
     where project_id = $1 and payment_id = $2 and state = $3::payment_state
     returning payment_id
   ), moved_payer as (
     ${writePayer(8)}
     returning payer.payer_id
   ), moved_payee as (
     ${writePayee(15)}
     returning payee.payee_id
   ), event as (
     insert into outbox (event_id, subject, project_id, payload, traceparent, request_id,
       occurred_at, next_at)
     select $19::uuid, $20::text, $1, $21::bytea, $22::text, $23::text, $24::timestamptz,
       ${leasedUntil}
     where $19::uuid is not null
   )
   select (select count(*) from moved)::integer as payments,
     (select count(*) from moved_payer)::integer as payers,
     (select count(*) from moved_payee)::integer as payees`,
)

const insertSettlements = sql(
  'settlement_insert',
  `insert into settlement (settlement_id, project_id, payment_id, kind, payer_id, payee_id,
     attempt_id, reverses_id, amount_minor, currency, create_time)
   select s.settlement_id, $1, $2, s.kind, s.payer_id, s.payee_id, s.attempt_id, s.reverses_id,
     s.amount_minor, $3, $4
   from unnest($5::uuid[], $6::settlement_kind[], $7::uuid[], $8::uuid[], $9::text[], $10::uuid[],
     $11::bigint[])
     as s(settlement_id, kind, payer_id, payee_id, attempt_id, reverses_id, amount_minor)`,
)

const insertRefunds = sql(
  'refund_insert',
  `insert into refund (refund_id, project_id, payment_id, payer_id, amount_minor, currency,
     create_time)
   select r.refund_id, $1, $2, r.payer_id, r.amount_minor, $3, $4
   from unnest($5::uuid[], $6::uuid[], $7::bigint[]) as r(refund_id, payer_id, amount_minor)`,
)

const insertTasks = sql(
  'task_insert',
  `insert into task (subject_id, kind, project_id, payment_id, reason, create_time, next_time)
   select t.subject_id, t.kind, $1, $2, t.reason, $3, $3
   from unnest($4::uuid[], $5::task_kind[], $6::payment_state[]) as t(subject_id, kind, reason)`,
)

/**
 * Writes a transition in the transaction that holds the payment's lock, in one round trip. Each row
 * is changed only from the state in which it was read; anything else is a bug and rolls back. The event
 * is leased to this process.
 */
export async function writeTransition(
  tx: Queryable,
  transition: Transition,
  event: StoredEvent | undefined,
): Promise<void> {
  const payers = rounds(transition.payers)
  const payees = rounds(transition.payees)
  const lastPayers = payers.pop() ?? []
  const lastPayees = payees.pop() ?? []
  await Promise.all([
    // A row that passes through states is written in each of them: a statement can change it but once.
    ...payers.map((moves) =>
      expectRows(moves.length, tx.run(updatePayers, payerValues(transition, moves))),
    ),
    ...payees.map((moves) =>
      expectRows(moves.length, tx.run(updatePayees, payeeValues(transition, moves))),
    ),
    writeStates(tx, transition, { payers: lastPayers, payees: lastPayees, event }),
    ...writeMoney(tx, transition),
  ])
}

/** What the payment and those whose last step it is come to, with the event of it. */
async function writeStates(
  tx: Queryable,
  transition: Transition,
  last: { payers: Move<PayerState>[]; payees: Move<PayoutState>[]; event: StoredEvent | undefined },
): Promise<void> {
  const { payment, now, fromState } = transition
  const { payers, payees, event } = last
  const written = await tx.row<{ payments: number; payers: number; payees: number }>(
    writeStatement,
    [
      payment.projectId,
      payment.paymentId,
      fromState,
      payment.state,
      payment.callbackSequence,
      payment.updateTime,
      expiryCheckTime(payment) ?? null,
      ...payerValues(transition, payers),
      ...payeeValues(transition, payees),
      event?.eventId ?? null,
      event?.subject ?? null,
      event?.payload ?? null,
      event?.traceparent ?? null,
      event?.requestId ?? null,
      now,
    ],
  )
  const isWhole =
    written?.payments === 1 && written.payers === payers.length && written.payees === payees.length
  if (!isWhole) throw notAsRead()
}

async function expectRows(count: number, written: Promise<number>): Promise<void> {
  if ((await written) !== count) throw notAsRead()
}

function notAsRead(): Error {
  return new Error('a row is not in the state in which it was read')
}

function payerValues({ payment }: Transition, moves: Move<PayerState>[]): unknown[] {
  const rows = moves.map(({ id }) => {
    const payer = payment.payers.find(({ payerId }) => payerId === id)
    if (payer === undefined) throw new Error('a transition moves a payer of another payment')
    return payer
  })
  return [
    moves.map(({ id }) => id),
    moves.map(({ from }) => from),
    moves.map(({ to }) => to),
    rows.map((payer) => payer.refusedAttempts),
    rows.map((payer) => payer.attemptId ?? null),
    rows.map((payer) => payer.receiptId ?? null),
    rows.map((payer) => payer.paymentMethod),
  ]
}

function payeeValues({ payment }: Transition, moves: Move<PayoutState>[]): unknown[] {
  return [
    moves.map(({ id }) => id),
    moves.map(({ from }) => from),
    moves.map(({ to }) => to),
    moves.map(({ id }) => payment.payees.find((one) => one.payeeId === id)?.releaseTime ?? null),
  ]
}

type Move<S> = { id: string; from: S; to: S }

/** The steps by their number: each is of a row that has taken the one before. */
function rounds<S>(paths: Map<string, [S, ...S[]]>): Move<S>[][] {
  const result: Move<S>[][] = []
  for (const [id, [first, ...rest]] of paths) {
    let from = first
    for (const [round, to] of (rest.length === 0 ? [first] : rest).entries()) {
      ;(result[round] ??= []).push({ id, from, to })
      from = to
    }
  }
  return result
}

function writeMoney(tx: Queryable, transition: Transition): Promise<unknown>[] {
  const { payment, now, settlements, refunds, tasks } = transition
  const { projectId, paymentId, currency } = payment
  const written: Promise<unknown>[] = []
  if (settlements.length > 0) {
    written.push(
      tx.run(insertSettlements, [
        projectId,
        paymentId,
        currency,
        now,
        settlements.map((row) => row.settlementId),
        settlements.map((row) => row.kind),
        settlements.map((row) => row.payerId ?? null),
        settlements.map((row) => row.payeeId ?? null),
        settlements.map((row) => row.attemptId ?? null),
        settlements.map((row) => row.reversesId ?? null),
        settlements.map((row) => row.amountMinor),
      ]),
    )
  }
  if (refunds.length > 0) {
    written.push(
      tx.run(insertRefunds, [
        projectId,
        paymentId,
        currency,
        now,
        refunds.map((row) => row.refundId),
        refunds.map((row) => row.payerId),
        refunds.map((row) => row.amountMinor),
      ]),
    )
  }
  if (tasks.length > 0) {
    written.push(
      tx.run(insertTasks, [
        projectId,
        paymentId,
        now,
        tasks.map((row) => row.subjectId),
        tasks.map((row) => row.kind),
        tasks.map((row) => row.reason ?? null),
      ]),
    )
  }
  return written
}
