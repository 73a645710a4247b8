// Lists transactions page by page: of a number within a window, of a project, and those of all that wait.
import { invalid } from '#core/errors/errors.ts'
import { idIn, pageOf, pageSizeOf, timeCursorIn, tokenOf } from '#core/paging.ts'
import { microsOf } from '#core/text/time.ts'
import type { TimeWindow } from '#platform/db/id-times.ts'
import { withProject } from '#platform/rpc/client/client.ts'
import type { Shown } from '../api/messages.ts'
import type { Transaction } from '../domain/transaction.ts'
import {
  institutionsOf,
  listTransactions,
  type NumberWindow,
  readClock,
} from '../store/history-store.ts'
import { listOfProject, listWaiting, type TransactionList } from '../store/project-list-store.ts'
import type { Institution } from './institution.ts'

/** What to list. */
export type Listing = {
  projectId: string
  mobileNumber: string
  /** First instant, in microseconds since 1970. Undefined: seven days before the end, or before now. */
  startUs: bigint | undefined
  /** Instant after the last. Undefined: no upper bound, so that what was made before the call is in the response. */
  endUs: bigint | undefined
  pageSize: number
  pageToken: string
}

const dayUs = 86_400_000_000n
const defaultWindowUs = 7n * dayUs
// The end is the instant after the last second of the window, so 90 days between its first and its last are a second more.
const maxWindowUs = 90n * dayUs + 1_000_000n
// The history has no grant of its own: permission to read a transaction includes listing it.
const endpoint = 'GET /institution/transaction'

/** One page, newest first, of the institutions whose transactions the project may read. */
export async function listHistory(
  institution: Institution,
  listing: Listing,
): Promise<{ transactions: Shown[]; nextPageToken: string }> {
  const { db } = institution
  const { projectId, mobileNumber, pageSize, pageToken } = listing
  const size = pageSizeOf(pageSize)
  const cursor = timeCursorIn(pageToken, 'cursor')
  const after = cursor && { createTime: cursor.time, movementId: cursor.id }
  const span = spanOf(listing, listing.endUs ?? microsOf(await readClock(db)))
  const window = { projectId, mobileNumber, ...span }
  const institutionNames = await grantedOf(institution, window)
  if (institutionNames.length === 0) return { transactions: [], nextPageToken: '' }
  const rows = await listTransactions(db, { ...window, institutionNames, after, limit: size + 1 })
  const page = pageOf(rows, size, (last) =>
    tokenOf(last.createTime?.getTime() ?? 0, last.movementId),
  )
  return { transactions: shownOf(page.rows), nextPageToken: page.nextPageToken }
}

/** A page of a project's transactions, newest first, those at institutions whose grant was revoked too. */
export async function listProject(
  { db }: Institution,
  list: TransactionList,
  wanted: Pick<Listing, 'projectId' | 'pageSize' | 'pageToken'> & TimeWindow,
): Promise<{ transactions: Shown[]; nextPageToken: string }> {
  const { projectId, pageSize, pageToken, from, to } = wanted
  const size = pageSizeOf(pageSize)
  const afterId = idIn(pageToken)
  const rows = await listOfProject(db, list, { projectId, afterId, limit: size + 1, from, to })
  const page = pageOf(rows, size, ({ movementId }) => tokenOf(movementId))
  return { transactions: shownOf(page.rows), nextPageToken: page.nextPageToken }
}

/** How to list what waits: what is younger than `minAgeS` seconds is not on the list; zero means ten minutes. */
export type WaitingListing = { minAgeS: number; pageSize: number; pageToken: string }

const defaultMinAgeS = 600

/** A page of the transactions of all projects that wait for the back end, oldest first. */
export async function listAllWaiting(
  { db }: Institution,
  { minAgeS, pageSize, pageToken }: WaitingListing,
): Promise<{ transactions: Shown[]; nextPageToken: string }> {
  const size = pageSizeOf(pageSize)
  const cursor = timeCursorIn(pageToken)
  const after = cursor && { createTime: cursor.time, movementId: cursor.id }
  const rows = await listWaiting(db, minAgeS || defaultMinAgeS, after, size + 1)
  const page = pageOf(rows, size, (last) =>
    tokenOf(last.createTime?.getTime() ?? 0, last.movementId),
  )
  return { transactions: shownOf(page.rows), nextPageToken: page.nextPageToken }
}

/** Transactions without claims, which no list has. */
function shownOf(rows: Transaction[]): Shown[] {
  return rows.flatMap((row) => {
    const { state } = row
    return state === 'claimed' ? [] : [{ ...row, state }]
  })
}

function spanOf({ startUs, endUs }: Listing, lastUs: bigint) {
  const firstUs = startUs ?? lastUs - defaultWindowUs
  if (firstUs > lastUs) throw invalid('start_datetime', 'must not be after the end of the window')
  if (lastUs - firstUs > maxWindowUs)
    throw invalid('start_datetime', 'must be at most 90 days back')
  return { startUs: firstUs, endUs }
}

/** A grant that was taken back takes the history with it. */
async function grantedOf({ db, peers }: Institution, window: NumberWindow): Promise<string[]> {
  const { projectId } = window
  const names = await institutionsOf(db, window)
  const granted = await Promise.all(
    names.map(async (institutionName) => {
      const request = { projectId, institutionName, endpoint }
      return (await peers.access.checkGrant(request, withProject(projectId))).granted
    }),
  )
  return names.filter((_, index) => granted[index])
}
