// Statements on the cursor of the backfill, and on which settlements the ledger has.
import type { Cursor } from '#core/paging.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** The job as it stands. */
export type BackfillState = {
  round: bigint
  pageToken: string
  checkedCount: bigint
  postedCount: bigint
  startTime: Date
  caughtUpTime: Date | null
}

const columns = `round, page_token as "pageToken", checked_count as "checkedCount",
  posted_count as "postedCount", start_time as "startTime", caught_up_time as "caughtUpTime"`

const readStatement = sql('backfill_read', `select ${columns} from settlement_backfill`)

/** Reads the job. Locks nothing. */
export async function readBackfill(db: Queryable): Promise<BackfillState> {
  return existing(await db.row<BackfillState>(readStatement, []))
}

const restartStatement = sql(
  'backfill_restart',
  `update settlement_backfill set round = round + 1, page_token = '', checked_count = 0,
     posted_count = 0, start_time = clock_now(), caught_up_time = null
   returning ${columns}`,
)

/** Sends the job back to the first settlement. Locks its row. */
export async function restartBackfill(db: Queryable): Promise<BackfillState> {
  return existing(await db.row<BackfillState>(restartStatement, []))
}

function existing(state: BackfillState | undefined): BackfillState {
  if (state === undefined) throw new Error('the backfill has lost its row')
  return state
}

const advanceStatement = sql(
  'backfill_advance',
  `update settlement_backfill set page_token = $3, checked_count = checked_count + $4,
     posted_count = posted_count + $5,
     caught_up_time = case when $6 then clock_now() else caught_up_time end
   where round = $1 and page_token = $2`,
)

/** A page that was worked on. */
export type DonePage = {
  nextToken: string
  checkedCount: number
  postedCount: number
  caughtUp: boolean
}

/** Moves the job past a page; does nothing when another replica has, or it was sent back. Locks its row. */
export async function advanceBackfill(
  db: Queryable,
  { round, pageToken }: BackfillState,
  page: DonePage,
): Promise<void> {
  const { nextToken, checkedCount, postedCount, caughtUp } = page
  await db.run(advanceStatement, [round, pageToken, nextToken, checkedCount, postedCount, caughtUp])
}

/** A transfer of two internal lines as it should stand in the ledger. */
export type ExpectedTransfer = {
  projectId: string
  transferId: string
  debit: string
  credit: string
  currency: string
  amountMinor: bigint
}

const lackingStatement = sql(
  'backfill_lacking',
  `select e.transfer_id from unnest(
     $1::uuid[], $2::uuid[], $3::ledger_internal[], $4::ledger_internal[], $5::text[], $6::bigint[]
   ) as e(project_id, transfer_id, debit, credit, currency, amount_minor)
   where not exists (
     select from posting d join posting c on c.project_id = d.project_id
       and c.transfer_id = d.transfer_id and c.line = 2
     where d.project_id = e.project_id and d.transfer_id = e.transfer_id and d.line = 1
       and (d.internal, d.currency, d.amount_minor) = (e.debit, e.currency, -e.amount_minor)
       and (c.internal, c.currency, c.amount_minor) = (e.credit, e.currency, e.amount_minor)
   )`,
)

/** Ids of the transfers that the ledger lacks, or has otherwise. Locks nothing. */
export async function findLacking(
  db: Queryable,
  expected: ExpectedTransfer[],
): Promise<Set<string>> {
  const rows = await db.rows<{ transfer_id: string }>(lackingStatement, [
    expected.map((one) => one.projectId),
    expected.map((one) => one.transferId),
    expected.map((one) => one.debit),
    expected.map((one) => one.credit),
    expected.map((one) => one.currency),
    expected.map((one) => one.amountMinor),
  ])
  return new Set(rows.map((row) => row.transfer_id))
}

/** A settlement that the ledger cannot take, and why. */
export type Refusal = { settlementId: string; projectId: string; reason: string }

const keepStatement = sql(
  'settlement_refused_keep',
  `insert into settlement_refused (settlement_id, project_id, reason)
   select * from unnest($1::uuid[], $2::uuid[], $3::text[])
   on conflict (settlement_id) do update set reason = excluded.reason`,
)

const forgetStatement = sql(
  'settlement_refused_forget',
  'delete from settlement_refused where settlement_id = any($1::uuid[])',
)

/** Keeps the refusals of a page and forgets those of its settlements that are in the ledger by now. */
export async function keepRefusals(
  db: Queryable,
  refusals: Refusal[],
  postedIds: string[],
): Promise<void> {
  await db.run(forgetStatement, [postedIds])
  if (refusals.length === 0) return
  await db.run(keepStatement, [
    refusals.map((one) => one.settlementId),
    refusals.map((one) => one.projectId),
    refusals.map((one) => one.reason),
  ])
}

const listStatement = sql(
  'settlement_refused_list',
  `select settlement_id as "settlementId", project_id as "projectId", reason,
     refuse_time as "refuseTime", (extract(epoch from refuse_time) * 1000000)::bigint as "refuseUs"
   from settlement_refused
   where ($4::uuid is null or settlement_id = $4) and ($2::bigint is null or (refuse_time, settlement_id)
     > (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid))
   order by refuse_time, settlement_id limit $1`,
)

/** A refusal with its time, also in microseconds since 1970 for its cursor. */
export type ListedRefusal = Refusal & { refuseTime: Date; refuseUs: bigint }

/** Refusals, oldest first, or the one of a settlement, behind a cursor in microseconds. Locks nothing. */
export function listRefusals(
  db: Queryable,
  limit: number,
  after?: Cursor,
  settlementId?: string,
): Promise<ListedRefusal[]> {
  return db.rows(listStatement, [limit, after?.at, after?.id, settlementId])
}

const findRefusalStatement = sql(
  'settlement_refused_find',
  `select settlement_id as "settlementId", project_id as "projectId", reason,
     refuse_time as "refuseTime"
   from settlement_refused where settlement_id = $1`,
)

/** The refusal of a settlement; undefined when it is not refused. Locks nothing. */
export function findRefusal(
  db: Queryable,
  settlementId: string,
): Promise<(Refusal & { refuseTime: Date }) | undefined> {
  return db.row(findRefusalStatement, [settlementId])
}

const countStatement = sql(
  'settlement_refused_count',
  'select count(*)::integer as count from settlement_refused',
)

/** How many settlements the ledger cannot take. */
export async function countRefusals(db: Queryable): Promise<number> {
  return (await db.row<{ count: number }>(countStatement, []))?.count ?? 0
}

const ageStatement = sql(
  'backfill_age',
  `select extract(epoch from clock_now() - coalesce(caught_up_time, start_time))::float8 as age_s
   from settlement_backfill`,
)

/** Seconds since the job last reached the end, or since its round began. */
export async function backfillAgeS(db: Queryable): Promise<number> {
  return (await db.row<{ age_s: number }>(ageStatement, []))?.age_s ?? 0
}
