// Lists a merchant's payments and reads the history of one.
import { hashKey } from '#core/identity/digest.ts'
import type { Key, KeyRing } from '#core/identity/key-ring.ts'
import { open, seal } from '#core/identity/seal.ts'
import { pageSizeOf, timeCursorIn, tokenOf } from '#core/paging.ts'
import type { Queryable } from '#platform/db/db.ts'
import { type HistoryEvent, historyOf } from '../domain/history.ts'
import { readHistory } from '../store/history-store.ts'
import {
  type ListCursor,
  listPayments,
  type PaymentFilter,
  type PaymentSummary,
} from '../store/list-store.ts'
import { notFound, type PaymentKey } from './payments.ts'

/** Which page to list. */
export type PaymentListing = Omit<PaymentFilter, 'before' | 'limit'> & {
  /** The time after the last time of creation. */
  endTime: Date | undefined
  pageSize: number
  pageToken: string
}

const defaultPageSize = 25
const lastTime = new Date('9999-12-31T00:00:00Z')
/** The position before all payments of one moment, in the order from the newest to the oldest. */
const firstId = '00000000-0000-0000-0000-000000000000'

/**
 * One page, newest first. It may have fewer payments than `pageSize`, even none, although more follow; `keys` seal the token
 * of such a page, whose cursor is another merchant's payment. Throws INVALID_PARAMETER for a token that this service did not issue.
 */
export async function listMerchantPayments(
  db: Queryable,
  keys: KeyRing,
  { endTime = lastTime, pageSize, pageToken, ...filter }: PaymentListing,
): Promise<{ payments: PaymentSummary[]; nextPageToken: string }> {
  const end: ListCursor = { createTime: endTime, paymentId: firstId }
  const cursor = timeCursorIn(
    open(pageToken, keys.keys.map(pageKey), purpose)?.toString() ?? pageToken,
  )
  const { payments, next, isForeign } = await listPayments(db, {
    ...filter,
    before:
      cursor && cursor.time < endTime ? { createTime: cursor.time, paymentId: cursor.id } : end,
    limit: pageSizeOf(pageSize, defaultPageSize),
  })
  const token = next === undefined ? '' : tokenOf(next.createTime.getTime(), next.paymentId)
  const nextPageToken = isForeign
    ? seal(Buffer.from(token), { ...pageKey(keys.current), purpose })
    : token
  return { payments, nextPageToken }
}

const purpose = 'page_token'

/** The key that seals page tokens, derived for this purpose alone. */
function pageKey({ keyId, key }: Key) {
  return { keyId, key: hashKey(key, purpose) }
}

/** The history of a payment of a merchant, oldest first, and the currency of its amounts. */
export async function listPaymentEvents(
  db: Queryable,
  key: Required<PaymentKey>,
): Promise<{ events: HistoryEvent[]; currency: string }> {
  const rows = await readHistory(db, key)
  if (rows === undefined || rows.merchantId !== key.merchantId) throw notFound()
  return { events: historyOf(rows), currency: rows.currency }
}
