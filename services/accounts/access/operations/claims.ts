// Claims items for people of the staff and releases them, each change with its audit entry.
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import {
  deleteClaim,
  type Item,
  type ItemClaim,
  lockClaim,
  upsertClaim,
} from '../store/claim-store.ts'
import { insertAudit } from '../store/project-store.ts'
import type { Actor } from './change.ts'

/**
 * Claims an item, or takes it over from the holder `takeOverFrom`; a repeat changes nothing. ITEM_CLAIMED when someone
 * else has it.
 */
export function claimItem(
  db: Database,
  { caller, requestId }: Actor,
  item: Item,
  takeOverFrom: string,
): Promise<ItemClaim> {
  return db.transaction(async (tx) => {
    const taken = await upsertClaim(tx, item, caller, takeOverFrom)
    // Its row is locked when it was not taken, so it is still there.
    if (taken === undefined) return own(await lockClaim(tx, item), caller)
    const { takenFrom } = taken
    await insertAudit(tx, {
      caller,
      requestId,
      action: takenFrom === null ? 'claim_item' : 'take_over_item',
      projectId: undefined,
      targetId: item.itemId,
      details: { kind: item.kind, ...(takenFrom !== null && { taken_from: takenFrom }) },
    })
    return taken
  })
}

/** Ends the caller's claim on an item; nothing changes when nobody has it. ITEM_CLAIMED when someone else has it. */
export function releaseItem(db: Database, { caller, requestId }: Actor, item: Item): Promise<void> {
  return db.transaction(async (tx) => {
    const claim = await lockClaim(tx, item)
    if (claim === undefined) return
    own(claim, caller)
    await deleteClaim(tx, item)
    await insertAudit(tx, {
      caller,
      requestId,
      action: 'release_item',
      projectId: undefined,
      targetId: item.itemId,
      details: { kind: item.kind },
    })
  })
}

function own(claim: ItemClaim | undefined, caller: string): ItemClaim {
  if (claim?.holder === caller) return claim
  const holder = claim?.holder ?? ''
  throw new Failure('ITEM_CLAIMED', `${holder.replace(/^console:/, '')} works on this item`, {
    details: { holder },
  })
}
