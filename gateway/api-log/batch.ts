// Makes batches for the API log: the facts of each request, and their masked queries and bodies compressed together.
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress as zstdCompressCallback } from 'node:zlib'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { loggedId } from '#core/text/logged-id.ts'
import type { LoggedRequestSchema } from '#gen/payweave/delivery/v1/api_log_pb.js'
import type { RouteRow } from '../http/route.ts'
import type { FinishedRequest } from './finished-request.ts'
import { keptJson } from './mask.ts'
import { masksOfRoute, type RouteMasks } from './route-masks.ts'

/** A request with the id of its entry. */
export type Entry = FinishedRequest & { entryId: string }

/** Requests of one call of `RecordRequests`. */
export type Batch = {
  requests: MessageInitShape<typeof LoggedRequestSchema>[]
  contents: { projectId: string; compressedLines: Uint8Array }[]
}
/** One without requests. */
export const noBatch: Batch = { requests: [], contents: [] }

/** Maximum requests of a batch. */
export const batchEntries = 500
/** Characters of text after which a batch is full: its contents stay below the limit of delivery. */
const batchCharacters = 512 * 1024
/** Masked in one turn of the event loop: about half a millisecond, so that no request waits longer. */
const sliceEntries = 16
/** Longer responses are lists; the log has their facts without them. */
const maxResponse = 256 * 1024

const zstdCompress = promisify(zstdCompressCallback)
/** The fastest: the texts of a batch are alike. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** A queue; `take` removes up to `count` entries, oldest first. */
type Queue = { take(count: number): Entry[] }

/** Creates a function that takes the next batch from the queue; `noBatch` when it is empty. It rejects for a route that has no row. */
export function batchMaker(rows: readonly RouteRow[], entries: Queue): () => Promise<Batch> {
  const routes = new Map(rows.map((row) => [`${row.method} ${row.path}`, row]))
  const masks = new Map<string, RouteMasks & { version: string }>()

  function masksOf(route: string): RouteMasks & { version: string } {
    const known = masks.get(route)
    if (known !== undefined) return known
    const row = routes.get(route)
    if (row === undefined) throw new Error(`no route ${route}`)
    const made = { ...masksOfRoute(row), version: row.version }
    masks.set(route, made)
    return made
  }

  return async () => {
    const requests: Batch['requests'] = []
    const lines = new Map<string, string>()
    let characters = 0
    while (requests.length < batchEntries && characters < batchCharacters) {
      const slice = entries.take(Math.min(sliceEntries, batchEntries - requests.length))
      if (slice.length === 0) break
      if (requests.length > 0) await setImmediate()
      for (const entry of slice) {
        const known = masksOf(entry.route)
        requests.push(factsOf(entry, known.version))
        const content = contentOf(entry, known)
        characters += content.length
        lines.set(entry.projectId, (lines.get(entry.projectId) ?? '') + content)
      }
    }
    const contents = Array.from(lines, async ([projectId, text]) => {
      return { projectId, compressedLines: await zstdCompress(text, compression) }
    })
    return { requests, contents: await Promise.all(contents) }
  }
}

/** What lists show of a request. */
function factsOf(entry: Entry, version: string): Batch['requests'][number] {
  const { idempotencyKey = '' } = entry
  return {
    entryId: entry.entryId,
    projectId: entry.projectId,
    merchantId: entry.merchantId ?? '',
    requestId: entry.requestId,
    route: entry.route,
    version,
    status: entry.status,
    errorCode: entry.reason ?? '',
    durationMs: Math.round(entry.durationMs),
    clientLeft: entry.clientLeft,
    idempotencyKey: idempotencyKey === '' ? '' : (loggedId(idempotencyKey) ?? ''),
  }
}

/** The three lines of a request: JSON has no line feeds. */
function contentOf({ status, field, query, body, response }: Entry, masks: RouteMasks): string {
  const value = parsed(response)
  const requestBody = body === undefined ? '' : keptJson(masks.body(body))
  const responseBody = value === undefined ? '' : keptJson(masks.response(status, value, field))
  return `${keptJson(masks.query(query))}\n${requestBody}\n${responseBody}\n`
}

function parsed(text: string | undefined): unknown {
  if (text === undefined || text.length > maxResponse) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
