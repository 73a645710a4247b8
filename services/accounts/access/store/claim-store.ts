// Statements on claims: which member of the staff works on which item that waits for a person.
import { type Queryable, sql } from '#platform/db/db.ts'

/** Kinds of items that wait for a person. */
export type ItemKind = 'onboarding' | 'bill' | 'refund' | 'suspense' | 'settlement' | 'dead_letter'

/** One item that waits for a person. */
export type Item = { kind: ItemKind; itemId: string }

/** Who works on an item. */
export type ItemClaim = Item & { holder: string; claimTime: Date; takenFrom: string | null }

const columns = (of: string) => `${of}.kind, ${of}.item_id as "itemId", ${of}.holder,
     ${of}.claim_time as "claimTime", ${of}.taken_from as "takenFrom"`

const upsertStatement = sql(
  'item_claim_take',
  `insert into item_claim (kind, item_id, holder) values ($1, $2, $3)
   on conflict (kind, item_id) do update
     set holder = $3, claim_time = clock_now(), taken_from = item_claim.holder
     where item_claim.holder = $4 and $4 <> $3
   returning ${columns('item_claim')}`,
)

/**
 * Claims an item that nobody has, or takes it over from the holder `takeOverFrom`; undefined when someone else has it, or
 * the same holder already. Locks its row in each case.
 */
export function upsertClaim(
  tx: Queryable,
  { kind, itemId }: Item,
  holder: string,
  takeOverFrom: string,
): Promise<ItemClaim | undefined> {
  return tx.row(upsertStatement, [kind, itemId, holder, takeOverFrom])
}

const lockStatement = sql(
  'item_claim_lock',
  `select ${columns('item_claim')} from item_claim where kind = $1 and item_id = $2 for update`,
)

/** Finds the claim on an item and locks its row; undefined when nobody has the item. */
export function lockClaim(tx: Queryable, { kind, itemId }: Item): Promise<ItemClaim | undefined> {
  return tx.row(lockStatement, [kind, itemId])
}

const deleteStatement = sql(
  'item_claim_delete',
  'delete from item_claim where kind = $1 and item_id = $2',
)

/** Deletes the claim on an item; the caller holds its lock. */
export async function deleteClaim(tx: Queryable, { kind, itemId }: Item): Promise<void> {
  await tx.run(deleteStatement, [kind, itemId])
}

const listStatement = sql(
  'item_claim_list',
  `select ${columns('one')}
   from unnest($1::text[], $2::uuid[]) as wanted (kind, item_id)
   join item_claim one on one.kind = wanted.kind and one.item_id = wanted.item_id`,
)

/** Claims on some items, in no order. Locks nothing. */
export function listClaims(db: Queryable, items: readonly Item[]): Promise<ItemClaim[]> {
  return db.rows(listStatement, [items.map(({ kind }) => kind), items.map(({ itemId }) => itemId)])
}

const deleteOldStatement = sql(
  'item_claim_delete_old',
  `delete from item_claim using (
     select kind, item_id from item_claim where claim_time < clock_now() - interval '30 days'
     order by claim_time limit $1 for update skip locked
   ) as old
   where item_claim.kind = old.kind and item_claim.item_id = old.item_id`,
)

/** Deletes up to `limit` claims of more than 30 days, and returns how many. Skips locked rows. */
export function deleteOldClaims(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteOldStatement, [limit])
}
