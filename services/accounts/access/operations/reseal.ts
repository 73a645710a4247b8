// Reseals values at rest under the current key, a page at a time. A repeat of a page reseals only what is left.
import { Failure } from '#core/errors/errors.ts'
import type { KeyRing, KeySource } from '#core/identity/key-ring.ts'
import { badPageToken } from '#core/paging.ts'
import type { Queryable } from '#platform/db/db.ts'
import { pageTokenOf, readFrom, readPageToken } from '#platform/keys/page-token.ts'
import {
  isSealedAnew,
  openAtRest,
  type SealedColumn,
  sealAtRest,
  sealedColumns,
} from '../domain/at-rest.ts'
import {
  type Replacement,
  readSealed,
  readSealedHeaders,
  replaceSealed,
  type SealedValue,
} from '../store/sealed-store.ts'

/** The result for the values of a page. */
export type ResealedPage = {
  nextPageToken: string
  checkedCount: number
  resealedCount: number
  /** Values that were not resealed: all of them when the page only counts. */
  leftCount: number
  /** Values that no key opens in their row. */
  unopened: { column: SealedColumn; rowId: string }[]
}

const resealRows = 200
const checkRows = 1_000

/** Dependencies of resealing a page. */
export type ResealOptions = { db: Queryable; keys: KeySource }

/** Which page, for which key. */
export type ResealRequest = { pageToken: string; keyId: string; checkOnly: boolean }

/**
 * Reseals one page, or only counts it. KEY_NOT_CURRENT when the key is not the current one in this process: a process that
 * has not read a new list yet must not seal under the previous key. INVALID_PARAMETER for a token that is not ours.
 */
export async function resealPage(
  { db, keys }: ResealOptions,
  { pageToken, keyId, checkOnly }: ResealRequest,
): Promise<ResealedPage> {
  const ring = keys()
  if (ring.current.keyId !== keyId) {
    throw new Failure('KEY_NOT_CURRENT', `key ${keyId} of seal.key is not the current one here`)
  }
  const { index, after } = readPageToken(pageToken)
  const column = sealedColumns[index]
  if (column === undefined) throw badPageToken()
  const [read, rows] = checkOnly ? [readSealedHeaders, checkRows] : [readSealed, resealRows]
  const values = await readFrom(after, () => read(db, column, after, rows))
  const wanted = values.filter(({ sealed }) => !isSealedAnew(ring, sealed))
  const last = values.length < rows ? undefined : values.at(-1)
  const page = {
    nextPageToken: nextToken(index, last),
    checkedCount: values.length,
    resealedCount: 0,
    leftCount: wanted.length,
    unopened: [],
  }
  return checkOnly ? page : { ...page, ...(await sealAnew(db, ring, column, wanted)) }
}

async function sealAnew(
  db: Queryable,
  ring: KeyRing,
  column: SealedColumn,
  values: readonly SealedValue[],
): Promise<Pick<ResealedPage, 'resealedCount' | 'leftCount' | 'unopened'>> {
  const secrets = { seal: () => ring }
  const unopened: ResealedPage['unopened'] = []
  const replacements: Replacement[] = []
  for (const { rowId, sealed } of values) {
    const cell = { column, rowId }
    const bytes = opened(() => openAtRest(secrets, cell, sealed))
    if (bytes === undefined) unopened.push(cell)
    else replacements.push({ rowId, before: sealed, after: sealAtRest(secrets, cell, bytes) })
  }
  const resealedCount = await replaceSealed(db, column, replacements)
  return { resealedCount, leftCount: replacements.length - resealedCount, unopened }
}

/** Reports the row instead of throwing, so that one lost value does not prevent the others from getting the new key. */
function opened(open: () => Buffer): Buffer | undefined {
  try {
    return open()
  } catch {
    return undefined
  }
}

function nextToken(index: number, last: SealedValue | undefined): string {
  if (last !== undefined) return pageTokenOf({ index, after: last.rowId })
  return index + 1 < sealedColumns.length ? pageTokenOf({ index: index + 1, after: '' }) : ''
}
