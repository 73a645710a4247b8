// The list of a project's transfers, page by page.
import { cursorIn, tokenOf } from '#core/paging.ts'
import type { Queryable } from '#platform/db/db.ts'
import type { Transfer } from '../store/ledger-store.ts'
import { findTransfers, type TransferFilter } from '../store/transfer-list-store.ts'

export type { TransferFilter } from '../store/transfer-list-store.ts'

/** How many transfers one page with a filter looks at. */
const maxScan = 1_000

/** A page of transfers. */
export type TransferPage = {
  transfers: Transfer[]
  /** Empty on the last page. */
  nextPageToken: string
}

/**
 * Transfers of a project, newest first, at most `limit`. With a filter by type or account a page looks at `scan` transfers, so it may have
 * fewer, or none, while more follow. INVALID_PARAMETER for a token that is not one of ours.
 */
export async function listTransfers(
  q: Queryable,
  {
    limit,
    pageToken,
    scan = maxScan,
    ...filter
  }: TransferFilter & { limit: number; pageToken: string; scan?: number },
): Promise<TransferPage> {
  const cursor = cursorIn(pageToken)
  const isFiltered = filter.method !== '' || filter.account !== undefined
  const { transfers, end } = await findTransfers(q, {
    ...filter,
    after: cursor && { timeUs: cursor.at, id: cursor.id },
    // One more than the page shows whether another follows.
    limit: limit + 1,
    scan: isFiltered ? scan : limit + 1,
  })
  const page = transfers.slice(0, limit)
  const next = transfers.length > limit ? page.at(-1)?.cursor : end
  return {
    transfers: page,
    nextPageToken: next === undefined ? '' : tokenOf(next.timeUs, next.id),
  }
}
