// Statements that place, post and release holds.
//
// Each locks the holders' rows before it touches a hold (posting-store.ts), so that placing, posting and releasing are serialized.
import { byKey } from '#platform/db/by-key.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Details, HolderAddress, HolderKey } from '../domain/lines.ts'
import {
  column,
  detailValues,
  freeIds,
  holderValues,
  inOrder,
  isIn,
  type LockWait,
  lineValues,
  lockingSql,
  type MadeRow,
  moveMoney,
  outcome,
  outcomesOf,
  type TransferDraft,
  type Written,
  writeLines,
} from './posting-store.ts'

/** State of a hold. */
export type HoldState = 'open' | 'posted' | 'voided' | 'expired'

/** Money of a holder that a hold reserves. */
export type Hold = HolderKey & {
  projectId: string
  holdId: string
  fingerprint: Buffer
  amountMinor: bigint
  state: HoldState
  details: Required<Details>
  createTime: Date
  expireTime: Date
  /** True once it has expired, whether a worker has released it yet or not. */
  hasExpired: boolean
}

/** A hold that is to be made. */
export type HoldDraft = Pick<
  Hold,
  'projectId' | 'holdId' | 'fingerprint' | 'amountMinor' | 'details' | 'expireTime'
> & { key: HolderKey; feeMinor: bigint }

const insertHolds = lockingSql(
  'hold_insert',
  (holders) => `with ${holders}, ${freeIds('holds')}, inserted as (
     insert into hold (project_id, hold_id, fingerprint, holder_id, holder, currency, amount_minor,
       reference, description, method, metadata, create_time, expire_time, fee_minor)
     select t.project_id, t.hold_id, t.fingerprint, ($1::uuid[])[d.h],
       ($2::text[])[d.h]::ledger_holder, ($3::text[])[d.h], -d.delta_minor, t.reference,
       t.description, t.method, t.metadata::jsonb, business_now(), t.expire_time, t.fee_minor
     from unnest($8::uuid[], $9::uuid[], $10::bytea[], $11::timestamptz[], $12::bigint[],
       $13::text[], $14::text[], $15::text[], $16::text[]) with ordinality
       as t(project_id, hold_id, fingerprint, expire_time, fee_minor, reference, description, method,
         metadata, n)
     cross join lateral (
       select ($6::integer[])[t.n] as h, ($7::bigint[])[t.n] as delta_minor
     ) d
     where t.expire_time > business_now() and ${isIn('free', 't.n')}
     order by t.n
     on conflict do nothing
     returning hold_id, create_time
   ), made as materialized (
     select array_position($9::uuid[], hold_id) as n, create_time as post_time from inserted
   ), change as (
     select h, 0 as posted_minor, -delta_minor as held_minor from delta where ${isIn('made', 'n')}
   ), ${moveMoney} ${outcome}`,
)

/**
 * Creates holds in one statement. Writes each hold completely or skips it (id taken, expired, refused; see `Written`). Locks
 * as posting-store.ts says, until the transaction ends.
 */
export async function writeHolds(
  q: Queryable,
  drafts: readonly HoldDraft[],
  wait: LockWait = 'full',
): Promise<Written[]> {
  const all = drafts.map((draft) => ({
    ...draft,
    deltas: [{ ...draft.key, deltaMinor: -draft.amountMinor }],
  }))
  const some = inOrder(all, ({ holdId }) => holdId)
  const values = [
    ...holderValues(some.map(({ deltas }) => deltas)),
    column('uuid', some, ({ projectId }) => projectId),
    column('uuid', some, ({ holdId }) => holdId),
    column('bytea', some, ({ fingerprint }) => fingerprint),
    column('timestamptz', some, ({ expireTime }) => expireTime),
    column('bigint', some, ({ feeMinor }) => feeMinor),
    ...detailValues(some),
  ]
  return outcomesOf(all, some, await q.rows<MadeRow>(insertHolds[wait], values)).map(
    ({ row, ...rest }) => ({ time: row?.post_time, ...rest }),
  )
}

// A hold without `close_time` is open. The condition on the state would make PostgreSQL read the index of all open holds for each batch.
const postHolds = lockingSql(
  'hold_post',
  (holders) => `with ${holders}, closing as (
     update hold h set state = 'posted', close_time = business_now()
     from delta d
     where ${byKey('h.project_id', '($8::uuid[])[d.n]')} and ${byKey('h.hold_id', '($9::uuid[])[d.n]')}
       and h.close_time is null and h.expire_time > business_now()
       and h.holder_id = ($1::uuid[])[d.h]
       and h.holder = ($2::text[])[d.h]::ledger_holder and h.currency = ($3::text[])[d.h]
       and d.delta_minor < 0 and h.amount_minor >= -d.delta_minor
       and d.n not in (select n from refused)
     returning d.n, d.h, h.project_id, h.hold_id, h.amount_minor, h.reference, h.description,
       h.method, h.metadata, h.close_time
   ), inserted as (
     insert into transfer (project_id, transfer_id, fingerprint, line_count, reference, description,
       method, metadata, post_time)
     select project_id, hold_id, ($18::bytea[])[n], ($19::smallint[])[n], reference, description,
       method, metadata, close_time
     from closing order by n
   ), made as materialized (
     select n, close_time as post_time, reference, description, method, metadata from closing
   ), change as (
     select h, delta_minor as posted_minor, 0 as held_minor from delta where ${isIn('made', 'n')}
     union all select h, 0, -amount_minor from closing
   ), ${moveMoney}, ${writeLines} ${outcome}`,
)

/** A hold that is to become a transfer of its id, with its details. */
export type HoldPosting = Omit<TransferDraft, 'details' | 'reversesId'>

/** Result of posting a hold; the details are those of the hold. */
export type WrittenHoldPosting =
  | { time: Date; holdersFound: true; details: Required<Details> }
  | { time: undefined; holdersFound: boolean }

/**
 * Posts open holds as transfers in one statement. Posts each hold completely or skips it (not open, expired, or its holder is not
 * debited by its amount or less). When the tables refuse one, none is posted. Locks as `writeTransfers` does.
 */
export async function writeHoldsPosted(
  q: Queryable,
  drafts: readonly HoldPosting[],
  wait: LockWait = 'full',
): Promise<WrittenHoldPosting[]> {
  const some = inOrder(drafts, ({ transferId }) => transferId)
  const values = [
    // The held money covers the debits: only the constraint of the table decides whether they suffice.
    ...holderValues(
      some.map(({ deltas }) => deltas),
      { areHeld: true },
    ),
    ...lineValues(some),
    column('bytea', some, ({ fingerprint }) => fingerprint),
    column('smallint', some, ({ lines }) => lines.length),
  ]
  const rows = await q.rows<MadeRow & Required<Details>>(postHolds[wait], values)
  return outcomesOf(drafts, some, rows).map(({ row, holdersFound }) => {
    if (row === undefined) return { time: undefined, holdersFound }
    const { post_time: time, reference, description, method, metadata } = row
    return { time, holdersFound: true, details: { reference, description, method, metadata } }
  })
}

const releaseStatement = sql(
  'hold_release',
  `with found as materialized (
     select a.holder_id, a.holder, a.currency
     from hold h join ledger_account a using (holder_id, holder, currency)
     where h.project_id = $1 and h.hold_id = $2
     for no key update of a
   ), closing as (
     update hold h set close_time = business_now(),
       state = case when h.expire_time > business_now() then 'voided' else 'expired' end::hold_state
     from found f
     where h.project_id = $1 and h.hold_id = $2 and h.state = 'open' and f.holder_id = h.holder_id
     returning h.*
   ), released as (
     update ledger_account a set held_minor = a.held_minor - c.amount_minor
     from closing c
     where a.holder_id = c.holder_id and a.holder = c.holder and a.currency = c.currency
   )
   select state from closing`,
)

/** Lets an open hold go, as voided or, past its time, as expired; undefined when it is not open. Locks as posting does. */
export async function writeHoldReleased(
  q: Queryable,
  projectId: string,
  holdId: string,
): Promise<HoldState | undefined> {
  return (await q.row<{ state: HoldState }>(releaseStatement, [projectId, holdId]))?.state
}

type HoldRow = Omit<Hold, 'details'> & Required<Details>

const selectHold = sql(
  'hold_read',
  `select project_id as "projectId", hold_id as "holdId", fingerprint, holder_id as "holderId",
     holder, currency, amount_minor as "amountMinor", state, reference, description, method,
     metadata, create_time as "createTime", expire_time as "expireTime",
     expire_time <= business_now() as "hasExpired"
   from hold where project_id = $1 and hold_id = $2`,
)

/** Reads a hold. Locks nothing. */
export async function readHold(
  q: Queryable,
  projectId: string,
  holdId: string,
): Promise<Hold | undefined> {
  const found = await q.row<HoldRow>(selectHold, [projectId, holdId])
  if (found === undefined) return undefined
  const { reference, description, method, metadata, ...row } = found
  return { ...row, details: { reference, description, method, metadata } }
}

const selectPassed = sql('hold_time_passed', 'select $1::timestamptz <= business_now() as passed')

/** Whether a time of expiry has passed. */
export async function hasPassed(q: Queryable, expireTime: Date): Promise<boolean> {
  return (await q.row<{ passed: boolean }>(selectPassed, [expireTime]))?.passed === true
}

/** The address of a hold's holder. */
export function addressOfHolder({
  holder,
  holderId,
}: Pick<HolderKey, 'holder' | 'holderId'>): HolderAddress {
  return holder === 'customer' ? { accountId: holderId } : { floatProjectId: holderId }
}

const selectExpired = sql(
  'hold_expired',
  `select project_id as "projectId", hold_id as "holdId" from hold
   where state = 'open' and expire_time <= business_now() order by expire_time limit $1`,
)

/** Open holds of which the time has run out. Locks nothing. */
export function findExpiredHolds(
  q: Queryable,
  limit: number,
): Promise<{ projectId: string; holdId: string }[]> {
  return q.rows(selectExpired, [limit])
}
