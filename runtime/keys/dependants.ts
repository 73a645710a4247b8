// Counts the stored values that need each key, page by page over their tables. It must not know a table.
import { invalid } from '#core/errors.ts'
import type { KeyRing } from '#core/key-ring.ts'
import { isBadParameter } from '#runtime/db-errors.ts'

/** A stored value that needs a key. */
export type Dependant = {
  /** Where it is in the order of its table; the next page begins after it. */
  place: string
  /** Null: from before key ids. */
  keyId: string | null
  id: string
}

/** Stored values of one kind. */
export type DependantSource = {
  kind: string
  /** Reads up to `limit` rows after a place (empty: from the first), in the order of their places. */
  read(after: string, limit: number): Promise<Dependant[]>
}

/** Values of one kind that need one key. */
export type Dependants = { kind: string; keyId: string; count: number; ids: string[] }

const pageRows = 1_000
const maxIds = 20

/**
 * One page: the rows of one source. INVALID_PARAMETER for a token that names no source. The token says how many sources
 * are done and where the next one is.
 */
export async function countPage(
  sources: readonly DependantSource[],
  keys: KeyRing,
  pageToken: string,
): Promise<{ dependants: Dependants[]; nextPageToken: string }> {
  const { index, after } = readToken(pageToken)
  const source = sources[index]
  if (source === undefined) {
    if (index === 0 && pageToken === '') return { dependants: [], nextPageToken: '' }
    throw badToken()
  }
  const rows = await readFrom(after, () => source.read(after, pageRows))
  const last = rows.length < pageRows ? undefined : rows.at(-1)
  const next = last === undefined ? { index: index + 1, after: '' } : { index, after: last.place }
  return {
    dependants: countByKey(source.kind, rows, keys),
    nextPageToken: next.index < sources.length ? tokenOf(next) : '',
  }
}

/** Runs a read that begins at a place out of a page token. INVALID_PARAMETER for a place that its table cannot have. */
export async function readFrom<T>(place: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (place !== '' && isBadParameter(error)) throw badToken()
    throw error
  }
}

function countByKey(kind: string, rows: readonly Dependant[], keys: KeyRing): Dependants[] {
  const byKey = new Map<string, Dependants>()
  for (const row of rows) {
    const keyId = row.keyId ?? keys.find(null)?.keyId ?? ''
    const known = byKey.get(keyId) ?? { kind, keyId, count: 0, ids: [] }
    known.count += 1
    if (known.ids.length < maxIds) known.ids.push(row.id)
    byKey.set(keyId, known)
  }
  return [...byKey.values()]
}

type Place = { index: number; after: string }

function tokenOf({ index, after }: Place): string {
  return Buffer.from(`${index} ${after}`).toString('base64url')
}

function readToken(token: string): Place {
  if (token === '') return { index: 0, after: '' }
  const [, index, after = ''] =
    /^(\d{1,3}) ([\w/:.-]{0,200})$/.exec(Buffer.from(token, 'base64url').toString()) ?? []
  if (index === undefined) throw badToken()
  return { index: Number(index), after }
}

function badToken() {
  return invalid('page_token', 'is not one of ours')
}
