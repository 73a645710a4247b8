// The pages of a list: how many rows, where the next one begins, and the token that says so. Reads nothing.
import { type Failure, invalid } from './errors/errors.ts'
import { isUuid } from './identity/id.ts'

/** The number of rows of a page; `defaultSize` for a request that names none. */
export function pageSizeOf(requested: number, defaultSize = 50): number {
  return requested === 0 ? defaultSize : requested
}

/** One page, and the token of the next one; empty for none. `found` has one row more than the page if another follows. */
export function pageOf<T>(
  found: readonly T[],
  size: number,
  tokenOf: (last: T) => string,
): { rows: T[]; nextPageToken: string } {
  const rows = found.slice(0, size)
  const last = found.length > size ? rows.at(-1) : undefined
  return { rows, nextPageToken: last === undefined ? '' : tokenOf(last) }
}

/** The page token of a cursor: its parts in base64url. */
export function tokenOf(...parts: readonly (string | number | bigint)[]): string {
  return Buffer.from(parts.join(' ')).toString('base64url')
}

/** The text of a token that `tokenOf` made. */
export function textIn(token: string): string {
  return Buffer.from(token, 'base64url').toString()
}

/**
 * The UUID in a token; undefined for an empty token, which is the beginning. Throws INVALID_PARAMETER for a token that
 * holds none.
 */
export function idIn(token: string): string | undefined {
  if (token === '') return undefined
  const id = textIn(token)
  if (!isUuid(id)) throw badPageToken()
  return id
}

/** A position in a list in the order of a number, and of the id for rows with the same number. A page begins after it. */
export type Cursor = { at: bigint; id: string }

/** After every row of a list by microseconds since 1970: the end of the year 9999, and the greatest UUID. */
export const endCursor: Cursor = {
  at: 253_402_300_799_000_000n,
  id: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
}

/**
 * The cursor in a token; undefined for an empty token. Throws INVALID_PARAMETER, which names `field`, for a token that
 * is not one of ours.
 */
export function cursorIn(token: string, field = 'page_token'): Cursor | undefined {
  if (token === '') return undefined
  const [, at, id = ''] = /^(\d{1,17}) (\S{36})$/.exec(textIn(token)) ?? []
  if (at === undefined || !isUuid(id)) throw badPageToken(field)
  return { at: BigInt(at), id }
}

const maxMs = 100_000_000_000_000n

/** The cursor of a list by time, whose token has milliseconds since 1970; throws as `cursorIn` does. */
export function timeCursorIn(
  token: string,
  field = 'page_token',
): { time: Date; id: string } | undefined {
  const cursor = cursorIn(token, field)
  if (cursor === undefined) return undefined
  if (cursor.at >= maxMs) throw badPageToken(field)
  return { time: new Date(Number(cursor.at)), id: cursor.id }
}

/** Makes (does not throw) the INVALID_PARAMETER for a token that is not one of ours. */
export function badPageToken(field = 'page_token'): Failure {
  return invalid(field, 'is not one of ours')
}
