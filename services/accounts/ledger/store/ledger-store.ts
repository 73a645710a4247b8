// Statements that open holders' accounts and read transfers.
import { type Queryable, sql } from '#platform/db/db.ts'
import {
  type Address,
  type Details,
  type HolderDelta,
  type InternalName,
  type Line,
} from '../domain/lines.ts'

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

/** A transfer as `transferColumns` and `transferLines` select it. */
export type TransferRow = {
  transfer_id: string
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

/** The columns of a transfer `t` beside its lines. */
export const transferColumns = `t.transfer_id, t.fingerprint, t.reverses_id, t.reference, t.description, t.method,
     t.metadata, t.post_time,
     (select r.transfer_id from transfer r
      where r.project_id = t.project_id and r.reverses_id = t.transfer_id) as reversed_by_id`

/** The lines of a transfer `t`, as one row of a lateral join. */
export const transferLines = `(
     select array_agg(holder_id order by line) as holder_ids,
       array_agg(holder::text order by line) as holders,
       array_agg(internal::text order by line) as internals,
       array_agg(currency order by line) as currencies,
       array_agg(amount_minor order by line) as amounts, array_agg(fee_minor order by line) as fees
     from posting p where p.project_id = t.project_id and p.transfer_id = t.transfer_id
   )`

const selectTransfer = sql(
  'transfer_read',
  `select ${transferColumns}, l.*
   from transfer t cross join lateral ${transferLines} l
   where t.project_id = $1 and t.transfer_id = $2`,
)

/** Reads a transfer with its lines. Locks nothing. */
export async function readTransfer(
  q: Queryable,
  projectId: string,
  transferId: string,
): Promise<Transfer | undefined> {
  const row = await q.row<TransferRow>(selectTransfer, [projectId, transferId])
  return row && transferOf(projectId, row)
}

/** A transfer of a row. */
export function transferOf(projectId: string, row: TransferRow): Transfer {
  const { reference, description, method, metadata } = row
  return {
    projectId,
    transferId: row.transfer_id,
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
