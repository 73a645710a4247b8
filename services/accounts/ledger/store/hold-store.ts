// Statements that place, post and release holds.
//
// Each locks the holder's row before it touches the hold, so that placing, posting and releasing are serialized.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Details, HolderAddress, HolderKey } from '../domain/lines.ts'
import {
  deltaValues,
  lineValues,
  lockHolders,
  type TransferDraft,
  writeLines,
} from './ledger-store.ts'

/** Where a hold stands. */
export type HoldState = 'open' | 'posted' | 'voided' | 'expired'

/** Money of a holder that is kept back. */
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
  hasLapsed: boolean
}

/** A hold that is to be made. */
export type HoldDraft = Pick<
  Hold,
  'projectId' | 'holdId' | 'fingerprint' | 'amountMinor' | 'details' | 'expireTime'
> & { key: HolderKey; feeMinor: bigint }

const insertHold = sql(
  'hold_insert',
  `with ${lockHolders}, inserted as (
     insert into hold (project_id, hold_id, fingerprint, holder_id, holder, currency, amount_minor,
       reference, description, method, metadata, create_time, expire_time, fee_minor)
     select $5, $6, $7, holder_id, holder, currency, delta_minor, $8, $9, $10, $11, clock_now(), $12, $13
     from found
     where $12 > clock_now()
       and not exists (select from transfer where project_id = $5 and transfer_id = $6)
     on conflict do nothing
     returning holder_id, holder, currency, amount_minor, create_time
   ), held as (
     update ledger_account a set held_minor = a.held_minor + i.amount_minor
     from inserted i
     where a.holder_id = i.holder_id and a.holder = i.holder and a.currency = i.currency
   )
   select (select create_time from inserted) as "createTime",
     exists (select from found) as "holderFound"`,
)

/** Makes a hold in one statement, or nothing. Locks the holder's row until the transaction ends. */
export async function writeHold(
  q: Queryable,
  { key, projectId, holdId, fingerprint, amountMinor, details, expireTime, feeMinor }: HoldDraft,
): Promise<{ createTime: Date | null; holderFound: boolean }> {
  const written = await q.row<{ createTime: Date | null; holderFound: boolean }>(insertHold, [
    ...deltaValues([{ ...key, deltaMinor: amountMinor }]),
    projectId,
    holdId,
    fingerprint,
    details.reference,
    details.description,
    details.method,
    details.metadata,
    expireTime,
    feeMinor,
  ])
  return written ?? { createTime: null, holderFound: false }
}

const postHoldStatement = sql(
  'hold_post',
  `with ${lockHolders}, closing as (
     update hold h set state = 'posted', close_time = clock_now()
     from found f
     where h.project_id = $5 and h.hold_id = $6 and h.state = 'open' and h.expire_time > clock_now()
       and h.holder_id = f.holder_id and h.holder = f.holder and h.currency = f.currency
       and f.delta_minor < 0 and h.amount_minor >= -f.delta_minor
       and (select count(*) from found) = cardinality($1::uuid[])
     returning h.*
   ), inserted as (
     insert into transfer (project_id, transfer_id, fingerprint, line_count, reference, description,
       method, metadata, post_time)
     select project_id, hold_id, $13, cardinality($10::text[]), reference, description, method,
       metadata, close_time
     from closing
     returning post_time, reference, description, method, metadata
   ), moved as (
     update ledger_account a set posted_minor = a.posted_minor + f.delta_minor,
       held_minor = a.held_minor - coalesce(c.amount_minor, 0)
     from inserted cross join found f left join closing c
       on c.holder_id = f.holder_id and c.holder = f.holder and c.currency = f.currency
     where a.holder_id = f.holder_id and a.holder = f.holder and a.currency = f.currency
   ), ${writeLines}
   select i.post_time as "postTime", i.reference, i.description, i.method, i.metadata,
     (select count(*) from found) = cardinality($1::uuid[]) as "holdersFound"
   from (values (1)) one left join inserted i on true`,
)

/** What became of a hold that was to be posted; the transfer has the details of the hold. */
export type WrittenHold =
  | { postTime: Date; details: Required<Details> }
  | { postTime: null; holdersFound: boolean }

/**
 * Turns an open hold into a transfer in one statement, or changes nothing: when the hold is not open, has lapsed, or its
 * holder is not debited by its amount or less. Locks the rows of all holders until the transaction ends.
 */
export async function writeHoldPosted(
  q: Queryable,
  draft: Pick<TransferDraft, 'projectId' | 'transferId' | 'lines' | 'deltas' | 'fingerprint'>,
): Promise<WrittenHold> {
  type Row = Required<Details> & { postTime: Date | null; holdersFound: boolean }
  const row = await q.row<Row>(postHoldStatement, [
    ...deltaValues(draft.deltas),
    ...lineValues(draft),
    draft.fingerprint,
  ])
  if (row === undefined) throw new Error('a posting has no row')
  const { postTime, holdersFound, reference, description, method, metadata } = row
  if (postTime === null) return { postTime, holdersFound }
  return { postTime, details: { reference, description, method, metadata } }
}

const releaseStatement = sql(
  'hold_release',
  `with found as materialized (
     select a.holder_id, a.holder, a.currency
     from hold h join ledger_account a using (holder_id, holder, currency)
     where h.project_id = $1 and h.hold_id = $2
     for no key update of a
   ), closing as (
     update hold h set close_time = clock_now(),
       state = case when h.expire_time > clock_now() then 'voided' else 'expired' end::hold_state
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
     expire_time <= clock_now() as "hasLapsed"
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

/** The address of a hold's holder. */
export function addressOfHolder({
  holder,
  holderId,
}: Pick<HolderKey, 'holder' | 'holderId'>): HolderAddress {
  return holder === 'customer' ? { accountId: holderId } : { floatProjectId: holderId }
}

const selectLapsed = sql(
  'hold_lapsed',
  `select project_id as "projectId", hold_id as "holdId" from hold
   where state = 'open' and expire_time <= clock_now() order by expire_time limit $1`,
)

/** Open holds of which the time has run out. Locks nothing. */
export function findLapsedHolds(
  q: Queryable,
  limit: number,
): Promise<{ projectId: string; holdId: string }[]> {
  return q.rows(selectLapsed, [limit])
}
