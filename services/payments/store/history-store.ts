// Reads what the history of a payment follows from.
import type { PaymentState } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { HistoryRows } from '../domain/history.ts'
import type { ReadKey } from './payment-store.ts'

// One statement, so that all of it is of one moment. Each part goes by key.
const readStatement = sql(
  'payment_history',
  `select p.payment_id, p.merchant_id, p.state, p.amount_minor::text, p.currency, p.create_time,
     (select reason from refund_reason r where r.payment_id = p.payment_id) as refund_reason,
     array(
       select json_build_object('payerId', r.payer_id, 'mobileNumber', r.mobile_number,
         'amountMinor', r.amount_minor::text)
       from payer r where r.payment_id = p.payment_id order by r.position
     ) as payers,
     array(
       select json_build_object('payeeId', e.payee_id, 'mobileNumber', e.mobile_number,
         'netMinor', e.net_minor::text, 'state', e.payout_state, 'releaseTime', e.release_time,
         'endTime', e.payout_end_time)
       from payee e where e.payment_id = p.payment_id order by e.position
     ) as payees,
     array(
       select json_build_object('attemptId', a.attempt_id, 'payerId', a.payer_id,
         'time', a.create_time)
       from payer r join attempt a on a.payer_id = r.payer_id
       where r.payment_id = p.payment_id order by a.create_time, a.attempt_id
     ) as attempts,
     array(
       select json_build_object('attemptId', c.attempt_id, 'payerId', c.payer_id,
         'outcome', c.outcome, 'refusalReason', c.refusal_reason, 'time', c.report_time)
       from payer r join charge_report c on c.payer_id = r.payer_id
       where r.payment_id = p.payment_id order by c.report_time, c.attempt_id
     ) as reports,
     array(
       select json_build_object('settlementId', s.settlement_id, 'kind', s.kind,
         'reversesKind', o.kind, 'payerId', s.payer_id, 'payeeId', s.payee_id,
         'attemptId', s.attempt_id, 'amountMinor', s.amount_minor::text, 'time', s.create_time)
       from settlement s left join settlement o on o.settlement_id = s.reverses_id
       where s.payment_id = p.payment_id order by s.create_time, s.settlement_id
     ) as settlements,
     array(
       select json_build_object('refundId', f.refund_id, 'payerId', f.payer_id, 'state', f.state,
         'endTime', f.end_time, 'completedTime', f.completed_time)
       from refund f where f.payment_id = p.payment_id
     ) as refunds,
     array(
       select json_build_object('reason', t.reason, 'time', t.create_time)
       from payer r join task t on t.subject_id = r.payer_id and t.kind = 'withdraw'
       where r.payment_id = p.payment_id and t.reason is not null
     ) as withdrawals
   from payment p
   where p.project_id = $1 and p.payment_id = $2`,
)

/** JSON has neither times nor integers of 64 bits: both come as text. */
type AsText<T> = T extends Date | bigint
  ? string
  : T extends (infer I)[]
    ? AsText<I>[]
    : T extends object
      ? { [K in keyof T]: AsText<T[K]> }
      : T

type PaymentRow = {
  payment_id: string
  merchant_id: string
  state: PaymentState
  amount_minor: string
  currency: string
  create_time: Date
  refund_reason: string | null
} & AsText<
  Pick<
    HistoryRows,
    'payers' | 'payees' | 'attempts' | 'reports' | 'settlements' | 'refunds' | 'withdrawals'
  >
>

/** Reads what the history of a payment of a project follows from; undefined when there is none. Locks nothing. */
export async function readHistory(
  db: Queryable,
  { projectId, paymentId }: ReadKey,
): Promise<HistoryRows | undefined> {
  const row = await db.row<PaymentRow>(readStatement, [projectId, paymentId])
  if (row === undefined) return undefined
  return {
    paymentId: row.payment_id,
    merchantId: row.merchant_id,
    state: row.state,
    amountMinor: BigInt(row.amount_minor),
    currency: row.currency,
    createTime: row.create_time,
    refundReason: row.refund_reason,
    payers: row.payers.map((payer) => ({ ...payer, amountMinor: BigInt(payer.amountMinor) })),
    payees: row.payees.map((payee) => ({
      ...payee,
      netMinor: BigInt(payee.netMinor),
      releaseTime: timeOrNull(payee.releaseTime),
      endTime: timeOrNull(payee.endTime),
    })),
    attempts: row.attempts.map(withTime),
    reports: row.reports.map(withTime),
    settlements: row.settlements.map((settlement) => ({
      ...withTime(settlement),
      amountMinor: BigInt(settlement.amountMinor),
    })),
    refunds: row.refunds.map((refund) => ({
      ...refund,
      endTime: timeOrNull(refund.endTime),
      completedTime: timeOrNull(refund.completedTime),
    })),
    withdrawals: row.withdrawals.map(withTime),
  }
}

function withTime<T extends { time: string }>(row: T) {
  return { ...row, time: new Date(row.time) }
}

function timeOrNull(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}
