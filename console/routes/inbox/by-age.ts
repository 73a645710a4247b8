// How the pages of several sources become one list by age.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { badPageToken, textIn, tokenOf } from '#core/paging.ts'
import type { AgedKind, InboxItem, Source } from './items.ts'

/** How far a source was read: the page, and the last item that was taken of it. */
type SourcePlace = { pageToken: string; id: string; ms: number }
/** The same of several sources, by their kinds. */
type Places = Partial<Record<AgedKind, SourcePlace>>

/** Items of one source behind a place. One that is no more there is passed by its time. */
async function* readOn({ read }: Source, place: SourcePlace | undefined) {
  let pageToken = place?.pageToken ?? ''
  let after = place
  for (;;) {
    const page = await read(pageToken)
    for (const item of behind(page.items, after)) {
      yield { item, place: { pageToken, id: item.id, ms: msOf(item) } }
    }
    if (page.nextPageToken === '') return
    pageToken = page.nextPageToken
    after = undefined
  }
}

function behind(items: InboxItem[], after: SourcePlace | undefined): InboxItem[] {
  if (after === undefined) return items
  const at = items.findIndex(({ id }) => id === after.id)
  return at >= 0 ? items.slice(at + 1) : items.filter((item) => msOf(item) >= after.ms)
}

function msOf({ since }: InboxItem): number {
  return since === undefined ? 0 : timestampMs(since)
}

/** The items of all sources, the oldest first, each with the places behind it. Rejects as the sources do. */
export async function* byAge(
  sources: Source[],
  begin: Places = {},
): AsyncGenerator<{ item: InboxItem; places: Places }> {
  const places = { ...begin }
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
    const { item, place } = oldest.head.value
    places[item.kind] = place
    yield { item, places: { ...places } }
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
  let places: Places = {}
  for await (const next of byAge(sources, placesIn(pageToken))) {
    if (items.length === size) return { items, nextPageToken: tokenOf(JSON.stringify(places)) }
    items.push(next.item)
    places = next.places
  }
  return { items, nextPageToken: '' }
}

/** The places of a token. Throws INVALID_PARAMETER for an invalid token. */
function placesIn(pageToken: string): Places {
  if (pageToken === '') return {}
  const read = parsed(textIn(pageToken))
  if (typeof read !== 'object' || read === null) throw badPageToken('page')
  const entries = Object.entries(read as Record<string, Partial<SourcePlace> | null>)
  return Object.fromEntries(
    entries.map(([kind, place]) => {
      const { pageToken: token, id, ms } = place ?? {}
      const isPlace = typeof token === 'string' && typeof id === 'string' && typeof ms === 'number'
      if (!isPlace) throw badPageToken('page')
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
