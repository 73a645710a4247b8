// Statements that read balances and histories, without locks.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Details, HolderKey, InternalName } from '../domain/lines.ts'

/** A balance at one instant of the database clock. */
export type Balance = { postedMinor: bigint; heldMinor: bigint; asOf: Date }

const selectHolder = sql(
  'ledger_account_read',
  `select coalesce(a.posted_minor, 0) as "postedMinor", coalesce(a.held_minor, 0) as "heldMinor",
     a.holder_id is not null as "isOpen", business_now() as "asOf"
   from (values (1)) one left join ledger_account a
     on a.holder_id = $1 and a.holder = $2 and a.currency = $3`,
)

/** The balance of a holder; zero without a row. */
export async function readHolder(
  q: Queryable,
  { holderId, holder, currency }: HolderKey,
): Promise<Balance & { isOpen: boolean }> {
  const found = await q.row<Balance & { isOpen: boolean }>(selectHolder, [
    holderId,
    holder,
    currency,
  ])
  if (found === undefined) throw new Error('a balance has no row')
  return found
}

const selectInternal = sql(
  'internal_balance_read',
  `select coalesce((select posted_minor from internal_balance
       where project_id = $1 and internal = $2 and currency = $3), 0)
     + coalesce((select sum(amount_minor) from internal_unfolded
       where project_id = $1 and internal = $2 and currency = $3), 0) as posted,
     business_now() as as_of`,
)

/** The balance of an internal account: what is rolled up and what is not yet, of one snapshot. */
export async function readInternal(
  q: Queryable,
  projectId: string,
  internal: InternalName,
  currency: string,
): Promise<Balance> {
  const row = await q.row<{ posted: string; as_of: Date }>(selectInternal, [
    projectId,
    internal,
    currency,
  ])
  if (row === undefined) throw new Error('a sum has no row')
  return { postedMinor: BigInt(row.posted), heldMinor: 0n, asOf: row.as_of }
}

/** One line of an account's history: a line that was posted, or a hold that waits for its outcome. */
export type AccountPosting = {
  projectId: string
  /** UUID of the transfer, or of the hold. */
  transferId: string
  /** Line of the transfer; 0 for a hold. */
  line: number
  currency: string
  /** Positive is a credit; a hold is negative. */
  amountMinor: bigint
  feeMinor: bigint
  details: Required<Details>
  /** False while it is a hold. */
  cleared: boolean
  /** When it was posted, or held back, in microseconds since 1970. */
  timeUs: bigint
}

/** Where a page ended: microseconds, id and line of its last entry. */
export type Position = { timeUs: bigint; id: string; line: number }

type HistoryRow = Omit<AccountPosting, 'details'> & Required<Details>

/** Microseconds since 1970 of a column, as SQL. */
export const micros = (column: string): string =>
  `(extract(epoch from ${column}) * 1000000)::bigint`
/** The instant of microseconds since 1970, as SQL. */
export const instant = (value: string): string =>
  `timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`
// Without an end, or before the first page, there is no upper bound: what was posted before the query is in the answer.
const window = (column: string): string =>
  `${column} >= ${instant('$2')} and ${column} < coalesce(${instant('$3')}, 'infinity')
        and ${column} <= coalesce(${instant('$5')}, 'infinity')`

const selectHistory = sql(
  'account_history',
  `select * from (
     (select p.project_id as "projectId", p.transfer_id as "transferId", p.line, p.currency,
        p.amount_minor as "amountMinor", p.fee_minor as "feeMinor", t.reference, t.description,
        t.method, t.metadata, true as cleared, ${micros('p.post_time')} as "timeUs"
      from posting p join transfer t using (project_id, transfer_id)
      where p.holder_id = $1 and p.holder = $8::ledger_holder and ${window('p.post_time')}
        and ($5::bigint is null
          or (p.post_time, p.transfer_id, p.line) < (${instant('$5')}, $6::uuid, $7::smallint))
      order by p.post_time desc, p.transfer_id desc, p.line desc limit $4)
     union all
     (select h.project_id, h.hold_id, 0::smallint, h.currency, -h.amount_minor, h.fee_minor,
        h.reference, h.description, h.method, h.metadata, false, ${micros('h.create_time')}
      from hold h
      where h.holder_id = $1 and h.holder = $8::ledger_holder and h.state = 'open'
        and ${window('h.create_time')}
        and ($5::bigint is null
          or (h.create_time, h.hold_id, 0::smallint) < (${instant('$5')}, $6::uuid, $7::smallint))
      order by h.create_time desc, h.hold_id desc limit $4)
   ) entry order by "timeUs" desc, "transferId" desc, line desc limit $4`,
)

/** A window of time in microseconds since 1970. Without an end it has no upper bound. */
export type MicrosWindow = { startUs: bigint; endUs: bigint | undefined }

/** Whose history is read. */
export type HistoryHolder = Pick<HolderKey, 'holder' | 'holderId'>

/** Lines and open holds of a holder within a window, newest first, after a position. Locks nothing. */
export async function readHistory(
  q: Queryable,
  query: MicrosWindow & HistoryHolder & { limit: number; after: Position | undefined },
): Promise<AccountPosting[]> {
  const { holder, holderId, startUs, endUs, limit, after } = query
  const rows = await q.rows<HistoryRow>(selectHistory, [
    holderId,
    startUs,
    endUs ?? null,
    limit,
    after?.timeUs ?? null,
    after?.id ?? null,
    after?.line ?? null,
    holder,
  ])
  return rows.map(({ reference, description, method, metadata, ...row }) => ({
    ...row,
    details: { reference, description, method, metadata },
  }))
}
