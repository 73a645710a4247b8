// Counts the stored values that need each key, page by page over their tables.
import type { KeyRing } from '#core/identity/key-ring.ts'
import { badPageToken } from '#core/paging.ts'
import { pageTokenOf, readFrom, readPageToken } from './page-token.ts'

/** A stored value that needs a key. */
export type Dependant = {
  /** Its position in its table; the next page begins after it. */
  cursor: string
  /** Null for a value from before key ids. */
  keyId: string | null
  id: string
}

/** Stored values of one kind. */
export type DependantSource = {
  kind: string
  /**
   * Reads up to `limit` rows after a cursor (empty: from the first), in its order. Rejects as a
   * Queryable does.
   */
  read(after: string, limit: number): Promise<Dependant[]>
}

/** Values of one kind that need one key. */
export type Dependants = { kind: string; keyId: string; count: number; ids: string[] }

const pageRows = 1_000
const maxIds = 20

/**
 * Counts one page: the rows of one source. The token says how many sources are done and where the next one begins; an
 * empty `nextPageToken` ends the count. Rejects with INVALID_PARAMETER for a token that names no source, and as a
 * Queryable does.
 */
export async function countPage(
  sources: readonly DependantSource[],
  keys: KeyRing,
  pageToken: string,
): Promise<{ dependants: Dependants[]; nextPageToken: string }> {
  const { index, after } = readPageToken(pageToken)
  const source = sources[index]
  if (source === undefined) {
    if (index === 0 && pageToken === '') return { dependants: [], nextPageToken: '' }
    throw badPageToken()
  }
  const rows = await readFrom(after, () => source.read(after, pageRows))
  const last = rows.length < pageRows ? undefined : rows.at(-1)
  const next = last === undefined ? { index: index + 1, after: '' } : { index, after: last.cursor }
  return {
    dependants: countByKey(source.kind, rows, keys),
    nextPageToken: next.index < sources.length ? pageTokenOf(next) : '',
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
