// Seals values at rest anew under the current key, a page at a time; the same page again finds less to do.
import { Failure, invalid } from '#core/errors.ts'
import type { KeyRing, KeySource } from '#core/key-ring.ts'
import type { Queryable } from '#runtime/db.ts'
import { readFrom } from '#runtime/keys/dependants.ts'
import {
  isSealedAnew,
  openAtRest,
  type SealedColumn,
  sealAtRest,
  sealedColumns,
} from '../at-rest.ts'
import {
  type Replacement,
  readSealed,
  readSealedHeaders,
  replaceSealed,
  type SealedValue,
} from './sealed-store.ts'

/** What became of the values of a page. */
export type ResealedPage = {
  nextPageToken: string
  checkedCount: number
  resealedCount: number
  /** Not sealed anew: all of them when the page only counts. */
  leftCount: number
  /** Values that no key opens in their row. */
  unopened: { column: SealedColumn; rowId: string }[]
}

const resealRows = 200
const checkRows = 1_000

/** What a page works with. */
export type ResealOptions = { db: Queryable; keys: KeySource }

/** Which page, for which key. */
export type ResealRequest = { pageToken: string; keyId: string; checkOnly: boolean }

/**
 * Seals one page anew, or only counts. KEY_NOT_CURRENT when the key is not the current one here: a process that has not
 * read a new list yet must not seal under the key before. INVALID_PARAMETER for a token that is not ours.
 */
export async function resealPage(
  { db, keys }: ResealOptions,
  { pageToken, keyId, checkOnly }: ResealRequest,
): Promise<ResealedPage> {
  const ring = keys()
  if (ring.current.keyId !== keyId) {
    throw new Failure('KEY_NOT_CURRENT', `key ${keyId} of seal.key is not the current one here`)
  }
  const { index, after } = readToken(pageToken)
  const column = sealedColumns[index]
  if (column === undefined) throw badToken()
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

/** Told by its row, not by an error: one value that is lost must not keep the others from their new key. */
function opened(open: () => Buffer): Buffer | undefined {
  try {
    return open()
  } catch {
    return undefined
  }
}

function nextToken(index: number, last: SealedValue | undefined): string {
  if (last !== undefined) return tokenOf(index, last.rowId)
  return index + 1 < sealedColumns.length ? tokenOf(index + 1, '') : ''
}

function tokenOf(index: number, after: string): string {
  return Buffer.from(`${index} ${after}`).toString('base64url')
}

function readToken(token: string): { index: number; after: string } {
  if (token === '') return { index: 0, after: '' }
  const [, index, after = ''] =
    /^(\d{1,2}) ([0-9a-f/-]{0,80})$/.exec(Buffer.from(token, 'base64url').toString()) ?? []
  if (index === undefined) throw badToken()
  return { index: Number(index), after }
}

function badToken(): Failure {
  return invalid('page_token', 'is not one of ours')
}
