// Streams the log of a tag as JSON, a page at a time, so that large logs and slow readers cost little memory.
import { formatIso } from '#core/text/time.ts'
import type { Database } from '#platform/db/db.ts'
import {
  type FoundLog,
  findLog,
  type LogRow,
  listLogPage,
  type Quota,
  type Received,
} from '../store/receiver-store.ts'

/** What a reader has in memory at once: 128 KiB, the last request aside. */
const pageLimit: Quota = { requests: 100, bytes: 128 * 1024 }

/** The log of a tag, found but not read. */
export type OpenLog = {
  /** Whether it takes more than a page. */
  isLarge: boolean
  /**
   * The newest requests within the quota, oldest first, as the pieces of one JSON object. Requests that are deleted
   * meanwhile are left out. Throws as a Queryable does, also after some pieces.
   */
  read(): AsyncGenerator<string>
}

/** Finds the log of a tag. Rejects as a Queryable does. */
export type OpenReceiverLog = (tag: string) => Promise<OpenLog>

/**
 * Makes the reader of logs. Its statements run one after another, so that all readers of a process together take one
 * connection of the pool.
 */
export function createReceiverLog(db: Database, quota: Quota): OpenReceiverLog {
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work, work)
    last = result
    return result
  }

  async function* readPages(tag: string, { oldest, size }: FoundLog): AsyncGenerator<LogRow[]> {
    let from = oldest
    let left = size.requests
    let includesFrom = true
    while (left > 0) {
      const limit = { ...pageLimit, requests: Math.min(left, pageLimit.requests) }
      const page = { from, includesFrom, limit }
      const rows = await inTurn(() => listLogPage(db, tag, page))
      const newest = rows.at(-1)
      if (newest === undefined) return
      yield rows
      from = { at: newest.at, receivedId: newest.receivedId }
      left -= rows.length
      includesFrom = false
    }
  }

  return async (tag) => {
    const found = await inTurn(() => findLog(db, tag, quota))
    return {
      isLarge: found !== undefined && found.size.bytes > pageLimit.bytes,
      async *read() {
        let separator = ''
        yield '{"requests":['
        for await (const rows of found === undefined ? [] : readPages(tag, found)) {
          for (const row of rows) {
            yield separator + format(row)
            separator = ','
          }
        }
        yield ']}'
      },
    }
  }
}

function format({ path, headers, body, receivedAt }: Received): string {
  const received_time = formatIso(receivedAt)
  return JSON.stringify({ path, headers, body: body.toString(), received_time })
}
