// The statements that move money: each writes any number of transfers with their lines and balances.
//
// Lock order of every statement that changes a holder's money, here and in hold-store.ts: the rows of all its holders, in the order of their
// keys (`touchedHolders`); then the ids of holds and transfers, in their order (`free_ledger_ids`), where one that a concurrent
// statement writes is waited for. A hold changes only under the lock of its holder. So no two statements deadlock, however their transfers overlap.
import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import {
  type Details,
  type HolderDelta,
  holderKey,
  type Line,
  touchedHolders,
} from '../domain/lines.ts'

/** A transfer that is to be written. Its lines are sound and its deltas are theirs. */
export type TransferDraft = {
  projectId: string
  transferId: string
  fingerprint: Buffer
  reversesId?: string
  lines: readonly Line[]
  deltas: readonly HolderDelta[]
  details: Required<Details>
}

/** Result of one of several writes. */
export type Written = {
  /** When it was written; undefined when it was not. */
  time: Date | undefined
  /** False when a holder of it has no row. */
  holdersFound: boolean
  /** False when a holder of it cannot pay all debits of the statement together. */
  isCovered: boolean
}

/** How a statement waits for the rows of holders: as long as any does, briefly, or not at all. */
export type LockWait = 'full' | 'brief' | 'none'

// Other batches keep a row for milliseconds. What keeps it for longer must not hold up the changes of other holders.
const brief = `brief as materialized (
     select set_config('lock_timeout', '500 ms', true) as lock_timeout
   )`

/**
 * Locks the rows of the holders $1 to $3, and refuses the changes of which a holder has no row or cannot pay $4, its debits by all
 * changes. Without a wait, a row that another transaction has locked is as none. $5 to $7: by delta the numbers of its change and
 * holder, and its amount.
 */
function lockHolders(wait: LockWait): string {
  const isBrief = wait !== 'full'
  return `${isBrief ? `${brief}, ` : ''}holder as materialized (
     select w.h::integer as h, coalesce(a.available_minor >= w.debit_minor, false) as is_covered,
       a.available_minor is not null as is_found
     from unnest($1::uuid[], $2::text[]::ledger_holder[], $3::text[], $4::bigint[]) with ordinality
       as w(holder_id, holder, currency, debit_minor, h) ${isBrief ? 'cross join brief' : ''}
     left join lateral (
       select a.posted_minor::numeric - a.held_minor - a.floor_minor as available_minor
       from ledger_account a
       where a.holder_id = w.holder_id and a.holder = w.holder and a.currency = w.currency
         ${isBrief ? 'and brief.lock_timeout is not null' : ''}
       for no key update ${wait === 'none' ? 'skip locked' : ''}
     ) a on true
   ), standing as materialized (
     select coalesce(array_agg(h) filter (where not is_found), '{}') as missing,
       coalesce(array_agg(h) filter (where is_found and not is_covered), '{}') as uncovered
     from holder
   ), delta as materialized (
     select * from unnest($5::integer[], $6::integer[], $7::bigint[]) as d(n, h, delta_minor)
   ), refused as materialized (
     select d.n from delta d cross join standing s where d.h = any(s.missing || s.uncovered)
   )`
}

/** A statement that begins with `lockHolders`, for each wait. */
export function lockingSql(
  name: string,
  textAfter: (holders: string) => string,
): Record<LockWait, Sql> {
  return {
    full: sql(name, textAfter(lockHolders('full'))),
    brief: sql(`${name}_brief`, textAfter(lockHolders('brief'))),
    none: sql(`${name}_free`, textAfter(lockHolders('none'))),
  }
}

/** Changes the balances of holders by rows of `change`: number of the holder, posted and held. Each row once, however many changes. */
export const moveMoney = `moved as (
     update ledger_account a set posted_minor = a.posted_minor + c.posted_minor,
       held_minor = a.held_minor + c.held_minor
     from (
       select h, sum(posted_minor)::bigint as posted_minor, sum(held_minor)::bigint as held_minor
       from change group by h
     ) c
     where a.holder_id = ($1::uuid[])[c.h] and a.holder = ($2::text[])[c.h]::ledger_holder
       and a.currency = ($3::text[])[c.h]
   )`

/**
 * Whether a change is in `made`, or free. PostgreSQL would compare each row with each of a join or a bare "in"; it looks this one up.
 */
export function isIn(rows: 'made' | 'free', n: string): string {
  return `(${n} in (select n from ${rows})) is true`
}

/**
 * Writes the lines of `made`, which has one time for all; $8 and $9 are the transfers, $10 to $17 the lines, each with the number of its transfer. What is to be rolled
 * up is one row for each internal account.
 */
export const writeLines = `line as (
     select ($8::uuid[])[l.n] as project_id, ($9::uuid[])[l.n] as transfer_id, l.*,
       (select post_time from made limit 1) as post_time
     from unnest($10::integer[], $11::smallint[], $12::uuid[], $13::text[]::ledger_holder[],
       $14::text[]::ledger_internal[], $15::text[], $16::bigint[], $17::bigint[])
       as l(n, line, holder_id, holder, internal, currency, amount_minor, fee_minor)
     where ${isIn('made', 'l.n')}
   ), written as (
     insert into posting (project_id, transfer_id, line, holder_id, holder, internal, currency,
       amount_minor, fee_minor, post_time)
     select project_id, transfer_id, line, holder_id, holder, internal, currency, amount_minor,
       fee_minor, post_time
     from line
   ), pending as (
     insert into internal_unfolded (project_id, internal, currency, transfer_id, line, amount_minor)
     select project_id, internal, currency, (array_agg(transfer_id))[1], (array_agg(line))[1],
       sum(amount_minor)
     from line where internal is not null group by project_id, internal, currency
   )`

/** The changes that are not refused, $8 and $9, of which no hold has the id of a transfer or the other way round. Locks their ids. */
export function freeIds(kind: 'holds' | 'transfers'): string {
  return `free as materialized (
     select unnest(free_ledger_ids(${kind === 'holds'}, $8::uuid[], $9::uuid[], array(select n from refused))) as n
   )`
}

/** One row for each change that was made, or one without `n`, with the numbers of the holders that refused changes. */
export const outcome = `select m.*, s.missing, s.uncovered from standing s left join made m on true`

const insertTransfers = lockingSql(
  'transfer_insert',
  (holders) => `with ${holders}, ${freeIds('transfers')}, inserted as (
     insert into transfer (project_id, transfer_id, fingerprint, line_count, reverses_id, reference,
       description, method, metadata, post_time)
     select project_id, transfer_id, fingerprint, line_count, reverses_id, reference, description,
       method, metadata::jsonb, business_now()
     from unnest($8::uuid[], $9::uuid[], $18::bytea[], $19::smallint[], $20::uuid[], $21::text[],
       $22::text[], $23::text[], $24::text[]) with ordinality
       as t(project_id, transfer_id, fingerprint, line_count, reverses_id, reference, description,
         method, metadata, n)
     where ${isIn('free', 'n')}
     order by n
     on conflict do nothing
     returning transfer_id, post_time
   ), made as materialized (
     select array_position($9::uuid[], transfer_id) as n, post_time from inserted
   ), change as (
     select h, delta_minor as posted_minor, 0 as held_minor from delta where ${isIn('made', 'n')}
   ), ${moveMoney}, ${writeLines} ${outcome}`,
)

/**
 * Writes transfers with their lines and balances in one statement. Writes each transfer completely or skips it (id taken, refused; see
 * `Written`). When the tables refuse one, none is written. Takes the locks that the top of this file names, until the transaction ends.
 */
export async function writeTransfers(
  q: Queryable,
  drafts: readonly TransferDraft[],
  wait: LockWait = 'full',
): Promise<Written[]> {
  const some = inOrder(drafts, ({ transferId }) => transferId)
  const values = [
    ...holderValues(some.map(({ deltas }) => deltas)),
    ...lineValues(some),
    column('bytea', some, ({ fingerprint }) => fingerprint),
    column('smallint', some, ({ lines }) => lines.length),
    column('uuid', some, ({ reversesId }) => reversesId),
    ...detailValues(some),
  ]
  return outcomesOf(drafts, some, await q.rows<MadeRow>(insertTransfers[wait], values)).map(
    ({ row, ...rest }) => ({ time: row?.post_time, ...rest }),
  )
}

/** The drafts of one statement in the order of their ids, each id once: another one with the same id is not written. */
export function inOrder<T>(drafts: readonly T[], idOf: (draft: T) => string): T[] {
  const byId = new Map(drafts.toReversed().map((draft) => [idOf(draft), draft]))
  return [...byId].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, draft]) => draft)
}

/** The values $1 to $7 of `lockHolders`. Debits that holds pay need no cover. */
export function holderValues(
  changes: readonly (readonly HolderDelta[])[],
  { areHeld = false } = {},
): unknown[] {
  const { holders, deltas } = touchedHolders(changes)
  return [
    column('uuid', holders, ({ holderId }) => holderId),
    column('text', holders, ({ holder }) => holder),
    column('text', holders, ({ currency }) => currency),
    column('bigint', holders, ({ debitMinor }) => (areHeld ? 0n : debitMinor)),
    column('integer', deltas, ({ change }) => change),
    column('integer', deltas, ({ holder }) => holder),
    column('bigint', deltas, ({ deltaMinor }) => deltaMinor),
  ]
}

/** The values $8 to $17 of `writeLines`. */
export function lineValues(
  drafts: readonly Pick<TransferDraft, 'projectId' | 'transferId' | 'lines'>[],
): unknown[] {
  const lines = drafts.flatMap((draft, index) =>
    draft.lines.map(({ address, ...line }, lineIndex) => ({
      ...line,
      transfer: index + 1,
      lineNumber: lineIndex + 1,
      internal: 'internal' in address ? address.internal : undefined,
      key: 'internal' in address ? undefined : holderKey(address, line.currency),
    })),
  )
  return [
    column('uuid', drafts, ({ projectId }) => projectId),
    column('uuid', drafts, ({ transferId }) => transferId),
    column('integer', lines, ({ transfer }) => transfer),
    column('smallint', lines, ({ lineNumber }) => lineNumber),
    column('uuid', lines, ({ key }) => key?.holderId),
    column('text', lines, ({ key }) => key?.holder),
    column('text', lines, ({ internal }) => internal),
    column('text', lines, ({ currency }) => currency),
    column('bigint', lines, ({ amountMinor }) => amountMinor),
    column('bigint', lines, ({ feeMinor = 0n }) => feeMinor),
  ]
}

/** Four values: reference, description, method and metadata. */
export function detailValues(drafts: readonly { details: Required<Details> }[]): unknown[] {
  return [
    column('text', drafts, ({ details }) => details.reference),
    column('text', drafts, ({ details }) => details.description),
    column('text', drafts, ({ details }) => details.method),
    column('text', drafts, ({ details }) => JSON.stringify(details.metadata)),
  ]
}

/** One value of each row as an array parameter. */
export function column<T>(type: ArrayType, rows: readonly T[], value: (row: T) => unknown): Buffer {
  return arrayParameter(type, rows.map(value))
}

/** A row of `outcome`. */
export type MadeRow = {
  n: number | null
  post_time: Date
  missing: number[]
  uncovered: number[]
}

/** What a statement over `written` answered about each of the drafts; one that was left out is as one whose id is taken. */
export function outcomesOf<T extends { deltas: readonly HolderDelta[] }, R extends MadeRow>(
  drafts: readonly T[],
  written: readonly T[],
  rows: readonly R[],
): { row: R | undefined; holdersFound: boolean; isCovered: boolean }[] {
  const made = new Map(rows.map((row) => [written[(row.n ?? 0) - 1], row]))
  const { missing = [], uncovered = [] } = rows[0] ?? {}
  const changesOf = (numbers: readonly number[]): Set<T | undefined> => {
    if (numbers.length === 0) return new Set()
    const { deltas } = touchedHolders(written.map((draft) => draft.deltas))
    const named = deltas.filter(({ holder }) => numbers.includes(holder))
    return new Set(named.map(({ change }) => written[change - 1]))
  }
  const [lacking, poor] = [changesOf(missing), changesOf(uncovered)]
  return drafts.map((draft) => ({
    row: made.get(draft),
    holdersFound: !lacking.has(draft),
    isCovered: !poor.has(draft),
  }))
}
