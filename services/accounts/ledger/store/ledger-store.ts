// Statements that write and read transfers.
import { type Queryable, sql } from '#platform/db/db.ts'
import {
  type Address,
  type Details,
  type HolderDelta,
  holderKey,
  type InternalName,
  type Line,
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

/** What became of a write. */
export type Written = {
  /** When it was posted; null when nothing was written. */
  postTime: Date | null
  /** False when a holder has no row: nothing was written then. */
  holdersFound: boolean
}

/** Locks holders' rows in the order of the arrays, which is the same everywhere; $1 to $4 are the deltas. */
export const lockHolders = `found as materialized (
     select a.holder_id, a.holder, a.currency, w.delta_minor
     from unnest($1::uuid[], $2::ledger_holder[], $3::text[], $4::bigint[])
       as w(holder_id, holder, currency, delta_minor)
     cross join lateral (
       select holder_id, holder, currency from ledger_account a
       where a.holder_id = w.holder_id and a.holder = w.holder and a.currency = w.currency
       for no key update
     ) a
   )`

/** Writes the lines of `inserted`; $5 and $6 name the transfer, $7 to $12 are the lines. */
export const writeLines = `line as (
     select $5::uuid as project_id, $6::uuid as transfer_id, l.*, i.post_time
     from unnest($7::uuid[], $8::ledger_holder[], $9::ledger_internal[], $10::text[], $11::bigint[],
       $12::bigint[]) with ordinality
       as l(holder_id, holder, internal, currency, amount_minor, fee_minor, line)
     cross join inserted i
   ), written as (
     insert into posting (project_id, transfer_id, line, holder_id, holder, internal, currency,
       amount_minor, fee_minor, post_time)
     select project_id, transfer_id, line, holder_id, holder, internal, currency, amount_minor,
       fee_minor, post_time
     from line
   ), unfolded as (
     insert into internal_unfolded (project_id, internal, currency, transfer_id, line, amount_minor)
     select project_id, internal, currency, transfer_id, line, amount_minor
     from line where internal is not null
   )`

const insertTransfer = sql(
  'transfer_insert',
  `with ${lockHolders}, inserted as (
     insert into transfer (project_id, transfer_id, fingerprint, line_count, reverses_id, reference,
       description, method, metadata, post_time)
     select $5, $6, $13, cardinality($10::text[]), $14, $15, $16, $17, $18, clock_now()
     where (select count(*) from found) = cardinality($1::uuid[])
       and not exists (select from hold where project_id = $5 and hold_id = $6)
     on conflict do nothing
     returning post_time
   ), moved as (
     update ledger_account a set posted_minor = a.posted_minor + f.delta_minor
     from found f cross join inserted
     where a.holder_id = f.holder_id and a.holder = f.holder and a.currency = f.currency
   ), ${writeLines}
   select (select post_time from inserted) as "postTime",
     (select count(*) from found) = cardinality($1::uuid[]) as "holdersFound"`,
)

/**
 * Writes a transfer with its lines and balances in one statement, or nothing. Locks the holders' rows in the order of
 * their keys until the transaction ends; the checks of the tables refuse an overdraft.
 */
export async function writeTransfer(q: Queryable, draft: TransferDraft): Promise<Written> {
  const { details } = draft
  const written = await q.row<Written>(insertTransfer, [
    ...deltaValues(draft.deltas),
    ...lineValues(draft),
    draft.fingerprint,
    draft.reversesId ?? null,
    details.reference,
    details.description,
    details.method,
    details.metadata,
  ])
  return written ?? { postTime: null, holdersFound: false }
}

/** The values $1 to $4 of `lockHolders`. */
export function deltaValues(deltas: readonly HolderDelta[]): unknown[] {
  return [
    deltas.map(({ holderId }) => holderId),
    deltas.map(({ holder }) => holder),
    deltas.map(({ currency }) => currency),
    deltas.map(({ deltaMinor }) => deltaMinor),
  ]
}

/** The values $5 to $12 of `writeLines`. */
export function lineValues({
  projectId,
  transferId,
  lines,
}: Pick<TransferDraft, 'projectId' | 'transferId' | 'lines'>): unknown[] {
  const keys = lines.map(({ address, currency }) =>
    'internal' in address ? undefined : holderKey(address, currency),
  )
  return [
    projectId,
    transferId,
    keys.map((key) => key?.holderId ?? null),
    keys.map((key) => key?.holder ?? null),
    lines.map(({ address }) => ('internal' in address ? address.internal : null)),
    lines.map(({ currency }) => currency),
    lines.map(({ amountMinor }) => amountMinor),
    lines.map(({ feeMinor = 0n }) => feeMinor),
  ]
}

const insertHolders = sql(
  'ledger_account_insert',
  `insert into ledger_account (holder_id, holder, currency)
   select * from unnest($1::uuid[], $2::ledger_holder[], $3::text[])
   on conflict do nothing`,
)

/** Opens holders' accounts at zero; those that are open stay as they are. */
export async function openHolders(
  q: Queryable,
  keys: readonly Pick<HolderDelta, 'holder' | 'holderId' | 'currency'>[],
): Promise<void> {
  await q.run(insertHolders, [
    keys.map(({ holderId }) => holderId),
    keys.map(({ holder }) => holder),
    keys.map(({ currency }) => currency),
  ])
}

/** A transfer that stands. */
export type Transfer = {
  projectId: string
  transferId: string
  fingerprint: Buffer
  lines: Line[]
  details: Required<Details>
  postTime: Date
  reversesId: string | undefined
  reversedById: string | undefined
}

type TransferRow = {
  fingerprint: Buffer
  reverses_id: string | null
  reversed_by_id: string | null
  reference: string
  description: string
  method: string
  metadata: Record<string, string>
  post_time: Date
  holder_ids: (string | null)[]
  holders: (string | null)[]
  internals: (InternalName | null)[]
  currencies: string[]
  amounts: bigint[]
  fees: bigint[]
}

const selectTransfer = sql(
  'transfer_read',
  `select t.fingerprint, t.reverses_id, t.reference, t.description, t.method, t.metadata, t.post_time,
     (select r.transfer_id from transfer r
      where r.project_id = t.project_id and r.reverses_id = t.transfer_id) as reversed_by_id, l.*
   from transfer t cross join lateral (
     select array_agg(holder_id order by line) as holder_ids,
       array_agg(holder::text order by line) as holders,
       array_agg(internal::text order by line) as internals,
       array_agg(currency order by line) as currencies,
       array_agg(amount_minor order by line) as amounts, array_agg(fee_minor order by line) as fees
     from posting p where p.project_id = t.project_id and p.transfer_id = t.transfer_id
   ) l
   where t.project_id = $1 and t.transfer_id = $2`,
)

/** Reads a transfer with its lines. Locks nothing. */
export async function readTransfer(
  q: Queryable,
  projectId: string,
  transferId: string,
): Promise<Transfer | undefined> {
  const row = await q.row<TransferRow>(selectTransfer, [projectId, transferId])
  if (row === undefined) return undefined
  const { reference, description, method, metadata } = row
  return {
    projectId,
    transferId,
    fingerprint: row.fingerprint,
    lines: row.amounts.map((amountMinor, index) => ({
      address: addressOf(row, index),
      currency: row.currencies[index] ?? '',
      amountMinor,
      feeMinor: row.fees[index] ?? 0n,
    })),
    details: { reference, description, method, metadata },
    postTime: row.post_time,
    reversesId: row.reverses_id ?? undefined,
    reversedById: row.reversed_by_id ?? undefined,
  }
}

function addressOf(row: TransferRow, index: number): Address {
  const internal = row.internals[index] ?? undefined
  if (internal !== undefined) return { internal }
  const holderId = row.holder_ids[index] ?? ''
  return row.holders[index] === 'customer' ? { accountId: holderId } : { floatProjectId: holderId }
}
