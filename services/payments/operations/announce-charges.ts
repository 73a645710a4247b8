// Announces charges to the back end.
import type { KeyRing, KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import type { CallOf } from '../domain/backend-call.ts'
import { cashCode } from '../domain/links.ts'
import type { Announcement, Backend } from '../ports/backend.ts'
import { readCharges } from '../store/task-store.ts'

/** Announces charges at once. Their tasks stay: announcing again changes nothing. */
export async function announceCharges(
  { db, backend, linkKeys }: { db: Database; backend: Backend; linkKeys: KeySource },
  payerIds: string[],
): Promise<void> {
  const calls = await readCharges(db, payerIds)
  await backend.announce(calls.map((call) => announcementOf(call, linkKeys())))
}

/** What the back end receives about a charge. INTERNAL_ERROR when the key of its cash code was retired. */
export function announcementOf(
  { subjectId: payerId, charge: { linkKeyId, ...charge } }: CallOf<'announce'>,
  keys: KeyRing,
): Announcement {
  const isAgent = charge.paymentChannel === 'agent'
  return { payerId, ...charge, cashCode: isAgent ? cashCode(keys, { payerId, linkKeyId }) : '' }
}
