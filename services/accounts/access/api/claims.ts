// Maps payweave.accounts.v1.ItemClaimService to the operations and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, missing } from '#core/errors/errors.ts'
import {
  type ItemClaimService,
  type Item as WireItem,
  ItemKind as WireItemKind,
} from '#gen/payweave/accounts/v1/item_claim_pb.js'
import type { Database } from '#platform/db/db.ts'
import { itemEndings, mayCall } from '#platform/rpc/auth/roles.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { actor } from '../operations/change.ts'
import { claimItem, releaseItem } from '../operations/claims.ts'
import { type Item, type ItemClaim, type ItemKind, listClaims } from '../store/claim-store.ts'

const wireKinds = {
  onboarding: WireItemKind.ONBOARDING,
  bill: WireItemKind.BILL,
  refund: WireItemKind.REFUND,
  suspense: WireItemKind.SUSPENSE,
  settlement: WireItemKind.SETTLEMENT,
  dead_letter: WireItemKind.DEAD_LETTER,
} as const satisfies Record<ItemKind, WireItemKind>

/**
 * The handlers of ItemClaimService. They refuse an item that another person has claimed with ITEM_CLAIMED, an item about
 * which the caller's roles may not decide with PERMISSION_DENIED, and reject as a Queryable does.
 */
export function itemClaimService(db: Database): ServiceImpl<typeof ItemClaimService> {
  return {
    async claimItem({ item: wanted, takeOverFrom }) {
      const item = itemOf(wanted)
      requireEnding(item.kind)
      return { claim: claimMessage(await claimItem(db, actor(), item, takeOverFrom)) }
    },
    async releaseItem({ item }) {
      await releaseItem(db, actor(), itemOf(item))
      return {}
    },
    async listItemClaims({ items }) {
      return { claims: (await listClaims(db, items.map(itemOf))).map(claimMessage) }
    },
  }
}

function itemOf(item: WireItem | undefined): Item {
  const kinds = Object.keys(wireKinds) as ItemKind[]
  const kind = kinds.find((one) => wireKinds[one] === item?.kind)
  if (item === undefined || kind === undefined) throw missing('item')
  return { kind, itemId: item.itemId }
}

function requireEnding(kind: ItemKind): void {
  const person = currentContext()?.caller?.person
  if (person === undefined || mayCall(person.memberships, itemEndings[kind], undefined)) return
  throw new Failure('PERMISSION_DENIED', 'the roles of this person do not let them end the item')
}

function claimMessage({ kind, itemId, holder, claimTime, takenFrom }: ItemClaim) {
  return {
    item: { kind: wireKinds[kind], itemId },
    holder,
    claimTime: timestampFromDate(claimTime),
    takenFrom: takenFrom ?? '',
  }
}
