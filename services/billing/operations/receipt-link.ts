// The token in the link of a receipt, derived from a key and the payment's id. Only its hash is stored.
import { Failure } from '#core/errors/errors.ts'
import { deriveToken, hashToken } from '#core/identity/digest.ts'
import type { KeyRing, KeySource } from '#core/identity/key-ring.ts'
import type { Queryable } from '#platform/db/db.ts'
import type { Bill } from '../domain/bill.ts'
import { findByTransaction, renewLink } from '../store/bill-store.ts'

/** A link under the current key, as its row holds it. */
export function newReceiptLink(
  { current }: KeyRing,
  billPaymentId: string,
): { linkTokenHash: Buffer; linkKeyId: string } {
  const linkTokenHash = hashToken(receiptToken(current.key, billPaymentId))
  return { linkTokenHash, linkKeyId: current.keyId }
}

/**
 * The token in the link of a receipt; the same one each time, unless its key was retired: then the receipt gets a new link
 * and the one before ends.
 */
export async function receiptTokenOf(
  { db, linkKeys }: { db: Queryable; linkKeys: KeySource },
  bill: Bill,
): Promise<string> {
  const { billPaymentId, linkKeyId, projectId, transactionId } = bill
  const keys = linkKeys()
  const key = keys.find(linkKeyId)
  if (key !== undefined) return receiptToken(key.key, billPaymentId)
  const renewed = await renewLink(db, bill, newReceiptLink(keys, billPaymentId))
  if (renewed !== undefined) return receiptToken(keys.current.key, billPaymentId)
  // Another process has renewed it in this moment, under a key that is in its list.
  const now = await findByTransaction(db, projectId, transactionId)
  const itsKey = now && linkKeys().find(now.linkKeyId)
  if (itsKey === undefined) {
    throw new Failure('SERVICE_UNAVAILABLE', 'the link was renewed under a key not read here yet')
  }
  return receiptToken(itsKey.key, billPaymentId)
}

function receiptToken(key: Buffer, billPaymentId: string): string {
  return deriveToken(key, 'bill-receipt', billPaymentId)
}
