// Reads the balance and the history of an account on the ledger.
import { invalid } from '#core/errors/errors.ts'
import type { KeyRing } from '#core/identity/key-ring.ts'
import { pageSizeOf } from '#core/paging.ts'
import {
  type AccountPosting,
  type Balance,
  listAccountPostings,
  readBalance,
} from '../../ledger/operations/balance.ts'
import type { Account } from '../domain/account.ts'
import { type PageCursor, pageToken, readPageToken } from '../domain/token.ts'
import { findAccountsByMobile } from '../store/account-store.ts'
import { accountNotFound, ambiguousMatch, type Customers } from './customers.ts'

const dayUs = 86_400_000_000n
const defaultWindowUs = 7n * dayUs

/** Whose money is meant. */
export type Holder = { projectId: string; mobileNumber: string }

/** Reads what is on an account. ACCOUNT_NOT_FOUND, AMBIGUOUS_MATCH. */
export async function getBalance(
  { db }: Customers,
  holder: Holder,
): Promise<{ account: Account; balance: Balance }> {
  const account = await theAccount(db, holder)
  const { accountId, currency } = account
  return { account, balance: await readBalance(db, { address: { accountId }, currency }) }
}

/** Which part of a history is asked for. */
export type HistoryQuery = Holder & {
  /** First instant, in microseconds since 1970. Undefined: seven days before the end, or before now. */
  startUs: bigint | undefined
  /** Instant after the last. Undefined: no upper bound, so that what was posted before the call is in the response. */
  endUs: bigint | undefined
  /** 0: the default. */
  pageSize: number
  /** Empty: the first page. */
  pageToken: string
}

/** One movement as the asking project may see it. */
export type Movement = Pick<
  AccountPosting,
  'currency' | 'amountMinor' | 'feeMinor' | 'cleared' | 'timeUs'
> & {
  transactionId: string
  description: string
  method: string
  metadata: Record<string, string>
}

/**
 * Lists what moved on an account, newest first. A page token carries its window and its cursor, so that what is posted
 * between two pages changes none. ACCOUNT_NOT_FOUND, AMBIGUOUS_MATCH, INVALID_PARAMETER.
 */
export async function listTransactions(
  { db, sessionKeys }: Customers,
  query: HistoryQuery,
): Promise<{ transactions: Movement[]; nextPageToken: string }> {
  const { projectId, pageSize } = query
  const { accountId, nowUs } = await theAccount(db, query)
  const ring = sessionKeys()
  const { after, ...window } = windowOf(ring, query, accountId, nowUs)
  const { postings, next } = await listAccountPostings(db, {
    accountId,
    ...window,
    limit: pageSizeOf(pageSize),
    ...(after !== '' && { after }),
  })
  const transactions = postings.map((posting) => movementOf(posting, projectId))
  if (next === undefined) return { transactions, nextPageToken: '' }
  const cursor = { ...window, after: next }
  return { transactions, nextPageToken: pageToken(ring.current.key, projectId, accountId, cursor) }
}

function windowOf(
  { keys }: KeyRing,
  { projectId, startUs, endUs, pageToken: token }: HistoryQuery,
  accountId: string,
  nowUs: bigint,
): PageCursor {
  if (token !== '') {
    const cursor = readPageToken(keys, projectId, accountId, token)
    const isOfWindow =
      cursor !== undefined &&
      (startUs === undefined || startUs === cursor.startUs) &&
      (endUs === undefined || endUs === cursor.endUs)
    if (!isOfWindow) throw invalid('page_token', 'must be one of this history and window')
    return cursor
  }
  const lastUs = endUs ?? nowUs
  const firstUs = startUs ?? lastUs - defaultWindowUs
  if (firstUs > lastUs) throw invalid('start_time', 'must not be after end_time')
  return { startUs: firstUs, endUs, after: '' }
}

/** What other projects wrote beside their movements is theirs: this one sees that money moved, and how much. */
function movementOf(posting: AccountPosting, projectId: string): Movement {
  const { transferId, details, currency, amountMinor, feeMinor, cleared, timeUs } = posting
  const isOwn = posting.projectId.toLowerCase() === projectId.toLowerCase()
  return {
    currency,
    amountMinor,
    feeMinor,
    cleared,
    timeUs,
    transactionId: (isOwn && details.reference) || transferId,
    description: isOwn ? details.description : '',
    method: details.method,
    metadata: isOwn ? details.metadata : {},
  }
}

async function theAccount(
  db: Customers['db'],
  { projectId, mobileNumber }: Holder,
): Promise<Account & { nowUs: bigint }> {
  const [account, another] = await findAccountsByMobile(db, projectId, mobileNumber)
  if (account === undefined) throw accountNotFound()
  if (another !== undefined) throw ambiguousMatch()
  return account
}
