// How the pages of several sources become one list by age.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { badPageToken, textIn, tokenOf } from '#core/paging.ts'
import type { AgedKind, InboxItem, Source } from './items.ts'

/** How far a source was read: the page, and the last item that was taken of it. */
type SourceCursor = { pageToken: string; id: string; ms: number }
/** The same of several sources, by their kinds. */
type Cursors = Partial<Record<AgedKind, SourceCursor>>

/** Items of one source behind a cursor. If its item is gone, its time decides. */
async function* readOn({ read }: Source, cursor: SourceCursor | undefined) {
  let pageToken = cursor?.pageToken ?? ''
  let after = cursor
  for (;;) {
    const page = await read(pageToken)
    for (const item of behind(page.items, after)) {
      yield { item, cursor: { pageToken, id: item.id, ms: msOf(item) } }
    }
    if (page.nextPageToken === '') return
    pageToken = page.nextPageToken
    after = undefined
  }
}

function behind(items: InboxItem[], after: SourceCursor | undefined): InboxItem[] {
  if (after === undefined) return items
  const at = items.findIndex(({ id }) => id === after.id)
  return at >= 0 ? items.slice(at + 1) : items.filter((item) => msOf(item) >= after.ms)
}

function msOf({ since }: InboxItem): number {
  return since === undefined ? 0 : timestampMs(since)
}

/** The items of all sources, the oldest first, each with the cursors behind it. Rejects as the sources do. */
export async function* byAge(
  sources: Source[],
  begin: Cursors = {},
): AsyncGenerator<{ item: InboxItem; cursors: Cursors }> {
  const cursors = { ...begin }
  const readers = await Promise.all(
    sources.map(async (source) => {
      const items = readOn(source, begin[source.kind])
      return { items, head: await items.next() }
    }),
  )
  for (;;) {
    let oldest: (typeof readers)[number] | undefined
    for (const reader of readers) {
      if (reader.head.done === true) continue
      const isOlder =
        oldest?.head.done !== false || msOf(reader.head.value.item) < msOf(oldest.head.value.item)
      if (isOlder) oldest = reader
    }
    if (oldest === undefined || oldest.head.done === true) return
    const { item, cursor } = oldest.head.value
    cursors[item.kind] = cursor
    yield { item, cursors: { ...cursors } }
    oldest.head = await oldest.items.next()
  }
}

/** A page of the list, and the token of the next one; empty for none. Rejects as `byAge` does, and for an invalid token. */
export async function pageByAge(
  sources: Source[],
  pageToken: string,
  size: number,
): Promise<{ items: InboxItem[]; nextPageToken: string }> {
  const items: InboxItem[] = []
  let cursors: Cursors = {}
  for await (const next of byAge(sources, cursorsIn(pageToken))) {
    if (items.length === size) return { items, nextPageToken: tokenOf(JSON.stringify(cursors)) }
    items.push(next.item)
    cursors = next.cursors
  }
  return { items, nextPageToken: '' }
}

/** The cursors of a token. Throws INVALID_PARAMETER for an invalid token. */
function cursorsIn(pageToken: string): Cursors {
  if (pageToken === '') return {}
  const read = parsed(textIn(pageToken))
  if (typeof read !== 'object' || read === null) throw badPageToken('page')
  const entries = Object.entries(read as Record<string, Partial<SourceCursor> | null>)
  return Object.fromEntries(
    entries.map(([kind, cursor]) => {
      const { pageToken: token, id, ms } = cursor ?? {}
      const isCursor = typeof token === 'string' && typeof id === 'string' && typeof ms === 'number'
      if (!isCursor) throw badPageToken('page')
      return [kind, { pageToken: token, id, ms }]
    }),
  )
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw badPageToken('page')
  }
}
