// Reads settlements in the order of their creation.
import { type Queryable, sql } from '#platform/db/db.ts'
import { idsOfTimes, type TimeWindow, windowValues } from '#platform/db/id-times.ts'
import type { SettledPayment } from '../domain/payment.ts'
import type { Settlement, SettlementKind } from '../domain/transition.ts'

/** A movement of money as it was written. */
export type SettlementRecord = {
  settlement: Settlement
  payment: SettledPayment
  createTime: Date
  /** One with a smaller id may still be in the making. */
  isYoung: boolean
}

type SettlementRow = {
  settlement_id: string
  project_id: string
  payment_id: string
  kind: SettlementKind
  payer_id: string | null
  payee_id: string | null
  attempt_id: string | null
  reverses_id: string | null
  reverses_kind: SettlementKind | null
  amount_minor: bigint
  currency: string
  create_time: Date
  merchant_id: string
  transaction_id: string
  is_young: boolean
}

// Ids hold real time. Business time alone would make a settlement old whenever the test clock of a sandbox moves.
const idOfAMinuteAgo = `rpad(
       lpad(to_hex((extract(epoch from clock_now() - interval '1 minute') * 1000)::bigint), 12, '0'),
       32, '0')::uuid`

const columns = `s.settlement_id, s.project_id, s.payment_id, s.kind, s.payer_id, s.payee_id, s.attempt_id,
     s.reverses_id, r.kind as reverses_kind, s.amount_minor, s.currency, s.create_time,
     p.merchant_id, p.transaction_id,
     s.create_time > business_now() - interval '1 minute'
       or s.settlement_id > (select ${idOfAMinuteAgo}) as is_young`
const joined = `settlement s
   join payment p on p.project_id = s.project_id and p.payment_id = s.payment_id
   left join settlement r on r.settlement_id = s.reverses_id`

const listStatement = sql(
  'settlement_list',
  `select ${columns} from ${joined}
   where s.settlement_id > $1
   order by s.settlement_id limit $2`,
)

/** Settlements of all projects after one, in the order of their ids. Locks nothing. */
export async function listSettlements(
  db: Queryable,
  afterId: string,
  limit: number,
): Promise<SettlementRecord[]> {
  return (await db.rows<SettlementRow>(listStatement, [afterId, limit])).map(recordOf)
}

const listOfProjectStatement = sql(
  'settlement_list_of_project',
  `select ${columns} from ${joined}
   where s.project_id = $1 and ($2::uuid is null or s.settlement_id < $2)
     and s.create_time >= $4::timestamptz and s.create_time < $5::timestamptz
     and ${idsOfTimes('s.settlement_id', '$4::timestamptz', '$5::timestamptz')}
   order by s.settlement_id desc limit $3`,
)

/** Settlements of a project behind `afterId`, newest first. Locks nothing. */
export async function listProjectSettlements(
  db: Queryable,
  page: TimeWindow & { projectId: string; afterId: string | undefined; limit: number },
): Promise<SettlementRecord[]> {
  const { projectId, afterId, limit } = page
  const values = [projectId, afterId ?? null, limit, ...windowValues(page)]
  return (await db.rows<SettlementRow>(listOfProjectStatement, values)).map(recordOf)
}

const findStatement = sql(
  'settlement_find',
  `select ${columns} from ${joined} where s.settlement_id = $1`,
)

/** One settlement; none for an unknown id. Locks nothing. */
export async function findSettlement(db: Queryable, id: string): Promise<SettlementRecord[]> {
  return (await db.rows<SettlementRow>(findStatement, [id])).map(recordOf)
}

const ofPaymentStatement = sql(
  'settlement_list_of_payment',
  `select ${columns} from ${joined} where s.payment_id = $1 order by s.settlement_id limit $2`,
)

/** The first settlements of one payment request; none for an unknown one. Locks nothing. */
export async function listSettlementsOfPayment(
  db: Queryable,
  paymentId: string,
  limit: number,
): Promise<SettlementRecord[]> {
  return (await db.rows<SettlementRow>(ofPaymentStatement, [paymentId, limit])).map(recordOf)
}

/** Of which connector, or of all. */
export type SettlementConnector = {
  /** Empty: all, with fees and recoveries too. */
  connector: string
  /** Has the charges and payouts that name no connector. */
  defaultConnector: string
}

/** Which settlements: written in a time that begins with `from` and ends before `to`, of one connector or all. */
export type SettlementWindow = SettlementConnector & { from: Date; to: Date }

const joinedWithParties = `${joined}
   left join payer y on y.payer_id = s.payer_id
   left join payee e on e.payee_id = s.payee_id`

/** The condition on the connector, by its parameters. */
function isOf(connector: string, defaultConnector: string): string {
  return `(${connector} = '' or (
       s.kind in ('payer_receipt', 'late_receipt', 'duplicate_receipt', 'refund', 'refund_returned', 'payout', 'payout_returned')
       and coalesce(y.connector, e.connector, ${defaultConnector}) = ${connector}))`
}

const listWindowStatement = sql(
  'settlement_list_window',
  `select ${columns} from ${joinedWithParties}
   where s.create_time >= $3 and s.create_time < $4
     and (s.create_time, s.settlement_id) >
       (coalesce((select a.create_time from settlement a where a.settlement_id = $1), '-infinity'), $1)
     and ${isOf('$5', '$6')}
   order by s.create_time, s.settlement_id limit $2`,
)

/** Settlements of all projects in a window after one, in the order of their times. Locks nothing. */
export async function listSettlementsOf(
  db: Queryable,
  afterId: string,
  limit: number,
  { from, to, connector, defaultConnector }: SettlementWindow,
): Promise<SettlementRecord[]> {
  const values = [afterId, limit, from, to, connector, defaultConnector]
  return (await db.rows<SettlementRow>(listWindowStatement, values)).map(recordOf)
}

const listOfReferencesStatement = sql(
  'settlement_list_of_references',
  `select ${columns} from ${joinedWithParties}
   where s.settlement_id in (
       select settlement_id from settlement where settlement_id = any($1::uuid[])
       union select settlement_id from settlement where payee_id = any($1::uuid[])
       union select settlement_id from settlement where reverses_id = any($1::uuid[]))
     and ${isOf('$2', '$3')}
   order by s.create_time, s.settlement_id`,
)

/** Settlements of payouts (by payee) and refunds, and of their returns, in the order of their times. Locks nothing. */
export async function listSettlementsOfReferences(
  db: Queryable,
  references: readonly string[],
  { connector, defaultConnector }: SettlementConnector,
): Promise<SettlementRecord[]> {
  const values = [references, connector, defaultConnector]
  return (await db.rows<SettlementRow>(listOfReferencesStatement, values)).map(recordOf)
}

function recordOf(row: SettlementRow): SettlementRecord {
  return {
    settlement: {
      settlementId: row.settlement_id,
      kind: row.kind,
      ...(row.payer_id === null ? {} : { payerId: row.payer_id }),
      ...(row.payee_id === null ? {} : { payeeId: row.payee_id }),
      ...(row.attempt_id === null ? {} : { attemptId: row.attempt_id }),
      ...(row.reverses_id === null ? {} : { reversesId: row.reverses_id }),
      ...(row.reverses_kind === null ? {} : { reversesKind: row.reverses_kind }),
      amountMinor: row.amount_minor,
    },
    payment: {
      projectId: row.project_id,
      paymentId: row.payment_id,
      merchantId: row.merchant_id,
      transactionId: row.transaction_id,
      currency: row.currency,
    },
    createTime: row.create_time,
    isYoung: row.is_young,
  }
}
