// Keeps finished requests in memory for a moment, and sends them masked, in batches, to the API log of delivery.
import { setImmediate } from 'node:timers/promises'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { Counter, type Registry } from 'prom-client'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { loggedId } from '#core/text/logged-id.ts'
import type { ApiLogService, LoggedRequestSchema } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { RouteRow } from '../http/route.ts'
import type { FinishedRequest } from './finished-request.ts'
import { keptJson } from './mask.ts'
import { masksOfRoute, type RouteMasks } from './route-masks.ts'

/** Where the edge puts requests. */
export type ApiLog = {
  /** Takes a request that has ended. Drops the oldest when there is no room. */
  add(request: FinishedRequest): void
  /** Sends what it has, once, and stops. Never rejects. */
  close(): Promise<void>
}

/** What it is made from. */
export type ApiLogOptions = {
  delivery: Pick<Client<typeof ApiLogService>, 'recordRequests'>
  /** All routes, whose schemas say what is kept. */
  rows: readonly RouteRow[]
  log: Logger
  metrics: Registry
  /** Pause between batches that are not full, in milliseconds. */
  pauseMs?: number
}

const maxEntries = 4_096
const maxCharacters = 16 * 1024 * 1024
/** Longer responses are lists; the log has their facts without them. */
const maxResponse = 256 * 1024
const batchEntries = 100
const everyMs = 1_000
/** Masked in one turn of the event loop: about half a millisecond, so that no request waits longer. */
const sliceEntries = 16

type Entry = FinishedRequest & { entryId: string }
type Logged = MessageInitShape<typeof LoggedRequestSchema>

/** Delivery refuses the batch itself: it would be refused again. */
const refusals: ReadonlySet<Reason> = new Set([
  'INVALID_PARAMETER',
  'MISSING_PARAMETER',
  'MESSAGE_TOO_LARGE',
])

/** Starts to send. */
export function startApiLog({
  delivery,
  rows,
  log,
  metrics,
  pauseMs = everyMs,
}: ApiLogOptions): ApiLog {
  const counts = new Counter({
    name: 'payweave_api_log_requests_total',
    help: 'Requests for the API log: stored, dropped because memory for them was full, or refused by delivery.',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  const entries = createQueue((dropped) => counts.inc({ outcome: 'dropped' }, dropped))
  const routes = new Map(rows.map((row) => [`${row.method} ${row.path}`, row]))
  const masks = new Map<string, RouteMasks>()
  /** A batch that delivery did not answer: it is sent again, which stores it once. */
  let pending: Logged[] = []

  function recordOf(entry: Entry): Logged {
    const { route } = entry
    const row = routes.get(route)
    if (row === undefined) throw new Error(`no route ${route}`)
    const known = masks.get(route) ?? masksOfRoute(row)
    masks.set(route, known)
    return { ...maskedRequest(entry, known), version: row.version }
  }

  async function send(): Promise<boolean> {
    if (pending.length === 0) {
      for (const [index, entry] of entries.take(batchEntries).entries()) {
        if (index > 0 && index % sliceEntries === 0) await setImmediate()
        pending.push(recordOf(entry))
      }
    }
    if (pending.length === 0) return false
    try {
      await delivery.recordRequests({ requests: pending })
      counts.inc({ outcome: 'stored' }, pending.length)
    } catch (error) {
      if (!(error instanceof Failure && refusals.has(error.reason))) throw error
      log.error({ err: error, count: pending.length }, 'API log refused')
      counts.inc({ outcome: 'refused' }, pending.length)
    }
    pending = []
    return entries.size() >= batchEntries
  }

  const loop = startLoop({ kind: 'api_log', log, pauseMs, round: send })
  return {
    add(request) {
      entries.add({ ...request, entryId: newId() })
      if (entries.size() === batchEntries) loop.notify()
    },
    async close() {
      await loop.close()
      try {
        while (entries.size() + pending.length > 0) await send()
      } catch (error) {
        log.warn({ err: error, count: entries.size() + pending.length }, 'API log not sent')
      }
    },
  }
}

/** Entries in the order of their end, within limits of number and size. */
function createQueue(onDrop: (count: number) => void) {
  let entries: Entry[] = []
  let characters = 0
  return {
    size: () => entries.length,
    add(entry: Entry): void {
      entries.push(entry)
      characters += sizeOf(entry)
      while (entries.length > maxEntries || characters > maxCharacters) {
        const oldest = entries.shift()
        if (oldest === undefined) break
        characters -= sizeOf(oldest)
        onDrop(1)
      }
    },
    take(count: number): Entry[] {
      const taken = entries.slice(0, count)
      entries = entries.slice(count)
      for (const entry of taken) characters -= sizeOf(entry)
      return taken
    },
  }
}

/** About the memory that an entry keeps. */
function sizeOf({ response = '', bodyBytes }: Entry): number {
  return response.length + bodyBytes
}

function maskedRequest(entry: Entry, masks: RouteMasks) {
  const { status, field, idempotencyKey = '', reason = '' } = entry
  const response = parsed(entry.response)
  return {
    entryId: entry.entryId,
    projectId: entry.projectId,
    merchantId: entry.merchantId ?? '',
    requestId: entry.requestId,
    route: entry.route,
    status,
    errorCode: reason,
    durationMs: Math.round(entry.durationMs),
    clientLeft: entry.clientLeft,
    idempotencyKey: loggedId(idempotencyKey) ?? '',
    query: keptJson(masks.query(entry.query)),
    requestBody: entry.body === undefined ? '' : keptJson(masks.body(entry.body)),
    responseBody: response === undefined ? '' : keptJson(masks.response(status, response, field)),
  }
}

function parsed(text: string | undefined): unknown {
  if (text === undefined || text.length > maxResponse) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
