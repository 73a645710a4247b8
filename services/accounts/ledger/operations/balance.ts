// Balances and histories of the ledger's accounts.
import { invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import type { Queryable } from '#platform/db/db.ts'
import { type Address, accountNotFound, holderKey, refuse } from '../domain/lines.ts'
import {
  type AccountPosting,
  type Balance,
  type HistoryHolder,
  type MicrosWindow,
  type Position,
  readHistory,
  readHolder,
  readInternal,
} from '../store/balance-store.ts'

export type { AccountPosting, Balance, MicrosWindow } from '../store/balance-store.ts'

/**
 * Reads a balance. An internal account is one of `projectId`. An account without postings has a balance of zero. A customer without
 * an account in the currency is LEDGER_ACCOUNT_NOT_FOUND.
 */
export async function readBalance(
  q: Queryable,
  { address, projectId, currency }: { address: Address; projectId?: string; currency: string },
): Promise<Balance> {
  if ('internal' in address) {
    return readInternal(
      q,
      projectId ?? refuse('project_id', 'is required'),
      address.internal,
      currency,
    )
  }
  const { isOpen, ...balance } = await readHolder(q, holderKey(address, currency))
  if (!isOpen && 'accountId' in address) throw accountNotFound(address.accountId)
  return balance
}

/** A page of a history. */
export type AccountPostings = {
  postings: AccountPosting[]
  /** Asks for the next page as `after`; undefined on the last one. */
  next: string | undefined
}

/** As `listPostings`, of a customer's account. */
export function listAccountPostings(
  q: Queryable,
  { accountId, ...query }: MicrosWindow & { accountId: string; limit: number; after?: string },
): Promise<AccountPostings> {
  return listPostings(q, { ...query, holder: 'customer', holderId: accountId })
}

/**
 * Posted lines and open holds of a holder with start ≤ time < end, newest first, at most `limit`. Lines of
 * every project that moved the holder's money are there; each names its project. INVALID_PARAMETER when `after` is not
 * the `next` of a page.
 */
export async function listPostings(
  q: Queryable,
  { after, ...query }: MicrosWindow & HistoryHolder & { limit: number; after?: string },
): Promise<AccountPostings> {
  const position = after === undefined ? undefined : positionOf(after)
  const { limit } = query
  const rows = await readHistory(q, { ...query, limit: limit + 1, after: position })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    postings: page,
    next: last === undefined || rows.length <= limit ? undefined : cursorOf(last),
  }
}

function cursorOf({ timeUs, transferId, line }: AccountPosting): string {
  return Buffer.from(`${timeUs}.${transferId}.${line}`).toString('base64url')
}

function positionOf(cursor: string): Position {
  const [timeUs = '', id = '', line = ''] = Buffer.from(cursor, 'base64url').toString().split('.')
  const isSound = /^\d{1,17}$/.test(timeUs) && isUuid(id) && /^\d{1,3}$/.test(line)
  if (!isSound) throw invalid('page_token', 'is not one of ours')
  return { timeUs: BigInt(timeUs), id, line: Number(line) }
}
