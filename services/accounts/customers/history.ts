// Reads the balance and the history of an account on the ledger; it must not change anything.
import { invalid } from '#core/errors.ts'
import {
  type AccountPosting,
  type Balance,
  listAccountPostings,
  readBalance,
} from '../ledger/balance.ts'
import type { Account } from './account.ts'
import { findAccountsByMobile } from './account-store.ts'
import { accountNotFound, ambiguousMatch, type Customers, requireText } from './customers.ts'
import { type PagePlace, pageToken, readPageToken } from './token.ts'

const dayMs = 86_400_000
const defaultWindowMs = 7 * dayMs
const defaultPageSize = 50
const maxPageSize = 200

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
export type HistoryQuestion = Holder & {
  /** Undefined: seven days before the end. */
  start: Date | undefined
  /** Undefined: now, by the database clock. */
  end: Date | undefined
  /** 0: the default. */
  pageSize: number
  /** Empty: the first page. */
  pageToken: string
}

/** One movement as the asking project may see it. */
export type Movement = Pick<
  AccountPosting,
  'currency' | 'amountMinor' | 'feeMinor' | 'cleared' | 'postTime'
> & {
  transactionId: string
  description: string
  method: string
  metadata: Record<string, string>
}

/**
 * Lists what moved on an account, newest first. A page token carries its window, so that what is posted between two
 * pages changes none. ACCOUNT_NOT_FOUND, AMBIGUOUS_MATCH, INVALID_PARAMETER.
 */
export async function listTransactions(
  { db, sessionKey }: Customers,
  question: HistoryQuestion,
): Promise<{ transactions: Movement[]; nextPageToken: string }> {
  const { projectId, pageSize } = question
  if (pageSize > maxPageSize) throw invalid('page_size', `must be at most ${maxPageSize}`)
  const { accountId, now } = await theAccount(db, question)
  const { start, end, after } = windowOf(sessionKey, question, accountId, now)
  const { postings, next } = await listAccountPostings(db, {
    accountId,
    start,
    end,
    limit: pageSize || defaultPageSize,
    ...(after !== '' && { after }),
  })
  const transactions = postings.map((posting) => movementOf(posting, projectId))
  if (next === undefined) return { transactions, nextPageToken: '' }
  const place = { start, end, after: next }
  return { transactions, nextPageToken: pageToken(sessionKey, projectId, accountId, place) }
}

function windowOf(
  sessionKey: Buffer,
  { projectId, start: askedStart, end: askedEnd, pageToken: token }: HistoryQuestion,
  accountId: string,
  now: Date,
): PagePlace {
  if (token !== '') {
    const place = readPageToken(sessionKey, projectId, accountId, token)
    const isOfWindow =
      place !== undefined &&
      (askedStart === undefined || askedStart.getTime() === place.start.getTime()) &&
      (askedEnd === undefined || askedEnd.getTime() === place.end.getTime())
    if (!isOfWindow) throw invalid('page_token', 'must be one of this history and window')
    return place
  }
  const end = askedEnd ?? now
  const start = askedStart ?? new Date(end.getTime() - defaultWindowMs)
  if (start > end) throw invalid('start_time', 'must not be after end_time')
  return { start, end, after: '' }
}

/** What other projects wrote beside their movements is theirs: this one sees that money moved, and how much. */
function movementOf(posting: AccountPosting, projectId: string): Movement {
  const { transferId, details, currency, amountMinor, feeMinor, cleared, postTime } = posting
  const isOwn = posting.projectId.toLowerCase() === projectId.toLowerCase()
  return {
    currency,
    amountMinor,
    feeMinor,
    cleared,
    postTime,
    transactionId: (isOwn && details.reference) || transferId,
    description: isOwn ? details.description : '',
    method: details.method,
    metadata: isOwn ? details.metadata : {},
  }
}

async function theAccount(
  db: Customers['db'],
  { projectId, mobileNumber }: Holder,
): Promise<Account & { now: Date }> {
  requireText(mobileNumber, 'mobile_number', 40)
  const [account, another] = await findAccountsByMobile(db, projectId, mobileNumber)
  if (account === undefined) throw accountNotFound()
  if (another !== undefined) throw ambiguousMatch()
  return account
}
