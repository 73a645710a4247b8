// Statements that read all balances of a project, and those of one internal account over all projects. They lock nothing.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { InternalName } from '../domain/lines.ts'

/** A balance of a project; `internal` is null for its float. Amounts in minor units. */
export type ProjectBalance = {
  projectId: string
  internal: InternalName | null
  currency: string
  postedMinor: bigint
  heldMinor: bigint
}

type ProjectBalanceRow = Omit<ProjectBalance, 'postedMinor'> & { posted: string }

const ofProjectStatement = sql(
  'project_balance_list',
  `select $1::uuid as "projectId", internal, currency, posted::text, "heldMinor" from (
     select null::ledger_internal as internal, currency, posted_minor::numeric as posted,
       held_minor as "heldMinor"
     from ledger_account where holder_id = $1 and holder = 'float'
     union all
     select internal, currency, sum(minor), 0 from (
       select internal, currency, posted_minor as minor from internal_balance where project_id = $1
       union all
       select internal, currency, amount_minor from internal_unfolded where project_id = $1
     ) part group by internal, currency
   ) balance order by internal nulls first, currency`,
)

/** Every balance of a project, the float first. */
export async function listProjectBalances(
  db: Queryable,
  projectId: string,
): Promise<ProjectBalance[]> {
  return (await db.rows<ProjectBalanceRow>(ofProjectStatement, [projectId])).map(balanceOf)
}

const openBalances = `select project_id, currency, sum(minor) as minor
   from (
     select project_id, currency, posted_minor as minor from internal_balance
     where internal = $1::ledger_internal and internal in ('suspense', 'refunds_unpaid')
     union all
     select project_id, currency, amount_minor from internal_unfolded
     where internal = $1::ledger_internal
   ) part group by project_id, currency having sum(minor) <> 0`

const openStatement = sql(
  'project_balance_list_open',
  `select project_id as "projectId", $1::ledger_internal as internal, currency,
     minor::text as posted, 0::bigint as "heldMinor"
   from (${openBalances}) open order by project_id, currency limit $2`,
)

/** Balances of one internal account other than zero, over all projects. */
export async function listOpenBalances(
  db: Queryable,
  internal: InternalName,
  limit: number,
): Promise<ProjectBalance[]> {
  return (await db.rows<ProjectBalanceRow>(openStatement, [internal, limit])).map(balanceOf)
}

/** Money in suspense that came for one payment; `paymentId` is empty for a transfer without one. */
export type SuspenseItem = {
  transferId: string
  projectId: string
  paymentId: string
  reference: string
  currency: string
  minor: bigint
  sinceTime: Date
}

const firstTransfer = '(array_agg(p.transfer_id order by p.post_time, p.transfer_id))[1]'

/**
 * The items of `open`, project and currency by row, that fulfil a condition on their postings `p`. `offset 0` makes PostgreSQL run a
 * query once for each row of `open`.
 */
const suspenseItems = (open: string, condition: string) =>
  `select ${firstTransfer} as "transferId", p.project_id as "projectId", payment_id as "paymentId",
     (array_agg(t.reference order by p.post_time, p.transfer_id))[1] as reference, p.currency,
     sum(p.amount_minor)::text as minor, min(p.post_time) as "sinceTime"
   from ${open}
   cross join lateral (
     select * from posting s where s.project_id = open.project_id and s.currency = open.currency
       and s.internal = 'suspense'
     offset 0
   ) p
   join transfer t on t.project_id = p.project_id and t.transfer_id = p.transfer_id,
   lateral (select coalesce(t.metadata ->> 'payment_id', '') as payment_id) named
   group by p.project_id, p.currency, payment_id having sum(p.amount_minor) <> 0 ${condition}`

const suspenseStatement = sql(
  'suspense_items',
  `${suspenseItems(`(${openBalances}) open`, '')} order by min(p.post_time), 1 limit $2`,
)

// The transfer is looked for in each project of `open`, and only postings of its project are read.
const suspenseOfTransferStatement = sql(
  'suspense_items_of_transfer',
  `with held as materialized (
     select open.project_id, open.currency from (${openBalances}) open
     cross join lateral (
       select from transfer t where t.project_id = open.project_id and t.transfer_id = $2 offset 0
     ) wanted
   )
   ${suspenseItems('held open', `and ${firstTransfer} = $2`)}`,
)

type SuspenseRow = Omit<SuspenseItem, 'minor'> & { minor: string }

/**
 * What of the money in suspense has not left, by payment, oldest first, in the projects and currencies whose suspense is not zero.
 * Locks nothing.
 */
export async function listSuspenseItems(db: Queryable, limit: number): Promise<SuspenseItem[]> {
  const rows = await db.rows<SuspenseRow>(suspenseStatement, ['suspense', limit])
  return rows.map(suspenseItemOf)
}

/** The same of the items whose first transfer has this id; projects may have transfers of one id. Locks nothing. */
export async function listSuspenseItemsOfTransfer(
  db: Queryable,
  transferId: string,
): Promise<SuspenseItem[]> {
  const rows = await db.rows<SuspenseRow>(suspenseOfTransferStatement, ['suspense', transferId])
  return rows.map(suspenseItemOf)
}

function suspenseItemOf({ minor, ...item }: SuspenseRow): SuspenseItem {
  return { ...item, minor: BigInt(minor) }
}

function balanceOf({ posted, ...balance }: ProjectBalanceRow): ProjectBalance {
  return { ...balance, postedMinor: BigInt(posted) }
}
