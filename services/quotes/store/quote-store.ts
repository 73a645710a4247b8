// Statements on quotes.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import {
  type DraftQuote,
  type Execution,
  noFees,
  type Quote,
  type QuoteKind,
  type QuoteState,
  type QuoteStatus,
  type TransactionStatus,
  type Use,
} from '../domain/quote.ts'

type QuoteRow = {
  quote_id: string
  project_id: string
  institution_id: string
  institution_name: string
  account_id: string
  kind: QuoteKind
  requested_minor: bigint
  requested_currency: string
  quoted_minor: bigint
  quoted_currency: string
  rate: string
  rate_time: Date
  residual: string
  rounding_minor: bigint
  quote_time: Date
  expire_time: Date
  state: QuoteState
  movement_id: string | null
  transaction_id: string | null
  institution_receipt_id: string | null
  transaction_status: TransactionStatus | null
  is_expired: boolean
}

/** Releases after which a quote counts as expired, which bounds the list of movements that released it. */
const maxGivenBack = 100

const columns = `quote_id, project_id, institution_id, institution_name, account_id, kind, requested_minor,
  requested_currency, quoted_minor, quoted_currency, rate, rate_time, residual, rounding_minor, quote_time, expire_time,
  state, movement_id, transaction_id, institution_receipt_id, transaction_status,
  expire_time <= business_now() or cardinality(given_back) >= ${maxGivenBack} as is_expired`

// A group of one too: the statement is planned once.
const insert = sql(
  'quote_insert',
  `insert into quote (quote_id, project_id, institution_id, institution_name, account_id, kind, requested_minor,
     requested_currency, quoted_minor, quoted_currency, rate, rate_time, residual, rounding_minor, quote_time, expire_time)
   select quote_id, project_id, institution_id, institution_name, account_id, kind, requested_minor, requested_currency,
     quoted_minor, quoted_currency, rate, rate_time, residual, rounding_minor, now.time, now.time + $1 * interval '1 second'
   from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::uuid[], $7::quote_kind[], $8::bigint[], $9::text[],
       $10::bigint[], $11::text[], $12::numeric[], $13::timestamptz[], $14::numeric[], $15::bigint[])
     as draft (quote_id, project_id, institution_id, institution_name, account_id, kind, requested_minor,
       requested_currency, quoted_minor, quoted_currency, rate, rate_time, residual, rounding_minor)
     cross join (select date_trunc('second', business_now()) as time) now
   returning quote_id, quote_time, expire_time`,
)

/**
 * Stores new quotes, all of them or, when one of them is refused, none; answers them in their order. Their times are whole
 * seconds of the database clock, so that clients see them as they are.
 */
export async function insertQuotes(
  db: Queryable,
  drafts: readonly DraftQuote[],
  ttlS: number,
): Promise<Quote[]> {
  const rows = drafts.map(valuesOf)
  const columns = rows[0]?.map((_, column) => rows.map((values) => values[column])) ?? []
  type Times = { quote_id: string; quote_time: Date; expire_time: Date }
  const stored = await db.rows<Times>(insert, [ttlS, ...columns])
  const byId = new Map(stored.map((times) => [times.quote_id, times]))
  return drafts.map((draft) => {
    const times = byId.get(draft.quoteId)
    if (times === undefined) throw new Error('a new quote has no row')
    const { quote_time: quoteTime, expire_time: expireTime } = times
    return { ...draft, quoteTime, expireTime, state: 'open', isExpired: false }
  })
}

function valuesOf(draft: DraftQuote): unknown[] {
  return [
    draft.quoteId,
    draft.projectId,
    draft.institutionId,
    draft.institutionName,
    draft.accountId,
    draft.kind,
    draft.requested.amountMinor,
    draft.requested.currency,
    draft.quoted.amountMinor,
    draft.quoted.currency,
    draft.rate.text,
    draft.rate.sourceTime,
    draft.residual,
    draft.roundingMinor,
  ]
}

const byName = sql(
  'quote_by_institution_name',
  `select ${columns} from quote where project_id = $1 and quote_id = $2 and institution_name = $3`,
)

/** Reads a quote of an institution. Locks nothing. */
export async function readQuote(
  db: Queryable,
  key: { projectId: string; quoteId: string; institutionName: string },
): Promise<Quote | undefined> {
  return decode(await db.row<QuoteRow>(byName, [key.projectId, key.quoteId, key.institutionName]))
}

const inList = (condition: string) =>
  `(select ${columns} from quote
    where project_id = $1 and ($2::uuid is null or quote_id < $2) ${condition}
    order by quote_id desc limit $3)`

const expired = `(expire_time <= business_now() or cardinality(given_back) >= ${maxGivenBack})`

/** Each state is read by the index that holds it; open quotes that have not expired are few, and found by their expiry. */
const listStatements = {
  any: sql('quote_list', inList('')),
  used: sql('quote_list_used', inList("and state = 'used'")),
  expired: sql('quote_list_expired', inList(`and state = 'open' and ${expired}`)),
  active: sql(
    'quote_list_active',
    `select * from (
       ${inList("and state = 'reserved'")}
       union all
       ${inList(`and state = 'open' and expire_time > business_now() and not ${expired}`)}
     ) as active
     order by quote_id desc limit $3`,
  ),
}

/** Which quotes of a project to list. */
export type QuoteList = {
  projectId: string
  /** Undefined: in any state. */
  status: QuoteStatus | undefined
  /** Behind this one. */
  afterId: string | undefined
  limit: number
}

/** Quotes of a project, newest first, since ids grow with time. Locks nothing. */
export async function listQuotes(
  db: Queryable,
  { projectId, status, afterId, limit }: QuoteList,
): Promise<Quote[]> {
  const rows = await db.rows<QuoteRow>(listStatements[status ?? 'any'], [
    projectId,
    afterId ?? null,
    limit,
  ])
  return rows.map(decode).filter((quote) => quote !== undefined)
}

const byId = sql(
  'quote_by_id',
  `select ${columns} from quote where project_id = $1 and quote_id = $2`,
)

/** Reads a quote of a project, of any institution. Locks nothing. */
export async function findQuote(
  db: Queryable,
  projectId: string,
  quoteId: string,
): Promise<Quote | undefined> {
  return decode(await db.row<QuoteRow>(byId, [projectId, quoteId]))
}

const heldStatement = sql(
  'quote_list_held',
  `select ${columns}, reserve_time, (extract(epoch from reserve_time) * 1000000)::bigint as reserved_us
   from quote
   where state = 'reserved' and (reserve_time, quote_id)
       > (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2)
     and reserve_time <= business_now() - $3::integer * interval '1 second'
   order by reserve_time, quote_id limit $4`,
)

/** A quote that a movement has reserved, with its time in microseconds since 1970 for the cursor. */
export type HeldQuote = { quote: Quote; reserveTime: Date; reservedUs: bigint }

const firstId = '00000000-0000-0000-0000-000000000000'

/** Quotes of all projects that were reserved `minAgeS` seconds ago, the longest held first; `after`: behind this one. */
export async function listHeld(
  db: Queryable,
  minAgeS: number,
  after: { reservedUs: bigint; quoteId: string } | undefined,
  limit: number,
): Promise<HeldQuote[]> {
  const { reservedUs = 0n, quoteId = firstId } = after ?? {}
  const rows = await db.rows<QuoteRow & { reserve_time: Date; reserved_us: bigint }>(
    heldStatement,
    [reservedUs, quoteId, minAgeS, limit],
  )
  return rows.flatMap((row) => {
    const quote = decode(row)
    const { reserve_time: reserveTime, reserved_us } = row
    return quote === undefined ? [] : [{ quote, reserveTime, reservedUs: reserved_us }]
  })
}

/** A quote and the movement that something is done for. */
export type Claim = { projectId: string; quoteId: string; movementId: string }

const forMovement = sql(
  'quote_for_movement',
  `select ${columns}, $3 = any(given_back) as given_back
   from quote where project_id = $1 and quote_id = $2`,
)

/** Reads a quote, and whether a movement has given it back. Locks nothing. */
export async function readForMovement(
  db: Queryable,
  { projectId, quoteId, movementId }: Claim,
): Promise<{ quote: Quote; givenBack: boolean } | undefined> {
  const row = await db.row<QuoteRow & { given_back: boolean }>(forMovement, [
    projectId,
    quoteId,
    movementId,
  ])
  const quote = decode(row)
  if (row === undefined || quote === undefined) return undefined
  return { quote, givenBack: row.given_back }
}

const reserve = sql(
  'quote_reserve',
  `update quote set state = 'reserved', movement_id = $4, reserve_time = business_now()
   where project_id = $1 and quote_id = $2 and institution_id = $3 and state = 'open'
     and expire_time > business_now() and cardinality(given_back) < ${maxGivenBack} and $4 <> all(given_back)
     and requested_minor = $5 and requested_currency = $6 and quoted_minor = $7 and quoted_currency = $8
     and ($9::uuid is null or account_id = $9)
   returning ${columns}`,
)

/**
 * Reserves a quote that is open, fresh and fits; undefined when it is not so. One conditional statement: of movements
 * that come together one gets it. Locks the quote.
 */
export async function reserveQuote(
  db: Queryable,
  key: { projectId: string; quoteId: string; institutionId: string },
  { movementId, debit, credit, accountId }: Execution,
): Promise<Quote | undefined> {
  const row = await db.row<QuoteRow>(reserve, [
    key.projectId,
    key.quoteId,
    key.institutionId,
    movementId,
    debit.amountMinor,
    debit.currency,
    credit.amountMinor,
    credit.currency,
    accountId ?? null,
  ])
  return decode(row)
}

const confirm = sql(
  'quote_confirm',
  `update quote set state = 'used', use_time = business_now(), transaction_id = $4, institution_receipt_id = $5,
     transaction_status = $6
   where project_id = $1 and quote_id = $2 and movement_id = $3 and state = 'reserved'`,
)

/** Makes a quote used that the movement has reserved; false when it has not. Locks the quote. */
export function confirmQuote(db: Queryable, claim: Claim, use: Use): Promise<boolean> {
  const { transactionId, institutionReceiptId, transactionStatus } = use
  return touch(db, confirm, claim, [transactionId, institutionReceiptId, transactionStatus])
}

const release = sql(
  'quote_release',
  `update quote set given_back = array_append(given_back, $3),
     state = case when movement_id = $3 then 'open' else state end,
     reserve_time = case when movement_id = $3 then null else reserve_time end,
     movement_id = case when movement_id = $3 then null else movement_id end
   where project_id = $1 and quote_id = $2 and $3 <> all(given_back)
     and (state = 'reserved' and movement_id = $3
       or state <> 'used' and movement_id is distinct from $3
         and expire_time > business_now() and cardinality(given_back) < ${maxGivenBack})`,
)

/**
 * Opens a quote again that the movement has reserved, and remembers the movement wherever it could still reserve it; false
 * when there is nothing to do. Locks the quote.
 */
export function releaseQuote(db: Queryable, claim: Claim): Promise<boolean> {
  return touch(db, release, claim, [])
}

const update = sql(
  'quote_update_transaction',
  `update quote set transaction_status = $4
   where project_id = $1 and quote_id = $2 and movement_id = $3 and state = 'used' and transaction_status = 'pending'`,
)

/** Records the outcome of the transaction that used a quote; false when there is none that waits for one. */
export function updateTransaction(
  db: Queryable,
  claim: Claim,
  status: TransactionStatus,
): Promise<boolean> {
  return touch(db, update, claim, [status])
}

async function touch(
  db: Queryable,
  statement: Sql,
  { projectId, quoteId, movementId }: Claim,
  more: unknown[],
): Promise<boolean> {
  return (await db.run(statement, [projectId, quoteId, movementId, ...more])) > 0
}

const backlog = sql(
  'quote_backlog',
  `select count(*)::integer as open,
     coalesce(extract(epoch from business_now() - min(reserve_time)), 0)::float8 as "oldestS"
   from quote where state = 'reserved'`,
)

/** Reservations whose movement has not ended, and the age of the oldest. Locks nothing. */
export async function countReserved(db: Queryable): Promise<{ open: number; oldestS: number }> {
  const row = await db.row<{ open: number; oldestS: number }>(backlog, [])
  return row ?? { open: 0, oldestS: 0 }
}

const deleteUnusedStatement = sql(
  'quote_delete_unused',
  `delete from quote using (
     select project_id, quote_id from quote
     where state = 'open' and expire_time < business_now() - interval '30 days'
     order by expire_time limit $1 for update skip locked
   ) as old
   where quote.project_id = old.project_id and quote.quote_id = old.quote_id`,
)

/**
 * Deletes up to `limit` quotes that ended unused 30 days ago. Reserved and used ones stay: they belong to a movement.
 * Locks what it deletes and skips locked rows.
 */
export function deleteUnused(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteUnusedStatement, [limit])
}

function decode(row: QuoteRow | undefined): Quote | undefined {
  if (row === undefined) return undefined
  return {
    quoteId: row.quote_id,
    projectId: row.project_id,
    institutionId: row.institution_id,
    institutionName: row.institution_name,
    accountId: row.account_id,
    kind: row.kind,
    requested: { amountMinor: row.requested_minor, currency: row.requested_currency },
    quoted: { amountMinor: row.quoted_minor, currency: row.quoted_currency },
    fees: noFees,
    rate: { text: row.rate, sourceTime: row.rate_time },
    residual: row.residual,
    roundingMinor: row.rounding_minor,
    quoteTime: row.quote_time,
    expireTime: row.expire_time,
    state: row.state,
    isExpired: row.is_expired,
    ...(row.movement_id === null ? {} : { movementId: row.movement_id }),
    ...useOf(row),
  }
}

function useOf(row: QuoteRow): { use?: Use } {
  const { transaction_id: transactionId, institution_receipt_id: institutionReceiptId } = row
  const { transaction_status: transactionStatus } = row
  if (transactionId === null || institutionReceiptId === null || transactionStatus === null)
    return {}
  return { use: { transactionId, institutionReceiptId, transactionStatus } }
}
