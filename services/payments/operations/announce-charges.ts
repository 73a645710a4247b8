// Announces charges to their connectors.
import type { KeyRing, KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import type { CallOf } from '../domain/backend-call.ts'
import { cashCode } from '../domain/links.ts'
import type { Announcement } from '../ports/backend.ts'
import type { Connectors } from '../ports/connectors.ts'
import { countAttempt, readCharges } from '../store/task-store.ts'

/** Announces charges at once. Their tasks stay: announcing again changes nothing. */
export async function announceCharges(
  { db, connectors, linkKeys }: { db: Database; connectors: Connectors; linkKeys: KeySource },
  payerIds: string[],
): Promise<void> {
  // Before the connectors are read: after this none of them changes.
  await countAttempt(db, payerIds)
  const calls = Map.groupBy(await readCharges(db, payerIds), ({ connector }) => connector)
  await Promise.all(
    [...calls].map(([connector, some]) =>
      connectors.of(connector).announce(some.map((call) => announcementOf(call, linkKeys()))),
    ),
  )
}

/** What the back end receives about a charge. INTERNAL_ERROR when the key of its cash code was retired. */
export function announcementOf(
  { subjectId: payerId, charge: { linkKeyId, ...charge } }: CallOf<'announce'>,
  keys: KeyRing,
): Announcement {
  const isAgent = charge.paymentChannel === 'agent'
  return { payerId, ...charge, cashCode: isAgent ? cashCode(keys, { payerId, linkKeyId }) : '' }
}
