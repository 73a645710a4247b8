// Announces charges to the back end, from their rows or from memory.
import type { KeyRing, KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import { cashCode } from '../domain/links.ts'
import type { Announcement, Backend } from '../ports/backend.ts'
import { type ChargeRow, readCharges } from '../store/task-store.ts'

/** Announces charges at once. Their tasks stay: announcing again changes nothing. */
export async function announceCharges(
  { db, backend, linkKeys }: { db: Database; backend: Backend; linkKeys: KeySource },
  payerIds: string[],
): Promise<void> {
  const charges = await readCharges(db, payerIds)
  await backend.announce(charges.map((row) => announcementOf(row, linkKeys())))
}

/** What the back end receives about a charge. INTERNAL_ERROR when the key of its cash code was retired. */
export function announcementOf(row: ChargeRow, keys: KeyRing): Announcement {
  const isAgent = row.payment_channel === 'agent'
  return {
    payerId: row.payer_id,
    amountMinor: row.amount_minor,
    currency: row.currency,
    mobileNumberE164: row.mobile_number_e164,
    paymentChannel: row.payment_channel,
    businessName: row.business_name,
    cashCode: isAgent ? cashCode(keys, { payerId: row.payer_id, linkKeyId: row.link_key_id }) : '',
    expireTime: row.expire_time,
  }
}
