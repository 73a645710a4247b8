// Page tokens of counts over several tables: which table comes next, and after which row.
import { badPageToken, textIn, tokenOf } from '#core/paging.ts'
import { isRefused } from '#platform/db/db.ts'

/** Where a page begins. */
export type PageCursor = {
  /** How many tables are done. */
  index: number
  /** The last row that was read of the current table; empty for none. */
  after: string
}

/** The token of a cursor, in base64url. */
export function pageTokenOf({ index, after }: PageCursor): string {
  return tokenOf(index, after)
}

/**
 * Reads a token; an empty one is the beginning. Throws INVALID_PARAMETER for a text that has not the form of a token.
 */
export function readPageToken(token: string): PageCursor {
  if (token === '') return { index: 0, after: '' }
  const [, index, after = ''] = /^(\d{1,3}) ([\w/:.-]{0,200})$/.exec(textIn(token)) ?? []
  if (index === undefined) throw badPageToken()
  return { index: Number(index), after }
}

/**
 * Runs a read that begins after a row of a token. Rejects with INVALID_PARAMETER when the database refuses that row's
 * form, since only a token that we did not issue can have such a row; and with what `read` throws.
 */
export async function readFrom<T>(after: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (after !== '' && isRefused(error)) throw badPageToken()
    throw error
  }
}
