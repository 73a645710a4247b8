// Keeps finished requests in memory for a moment, and sends them masked, in batches, to the API log of delivery.
import type { Client } from '@connectrpc/connect'
import { Counter, type Registry } from 'prom-client'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { ApiLogService } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { RouteRow } from '../http/route.ts'
import { batchEntries, batchMaker, type Entry, noBatch } from './batch.ts'
import type { FinishedRequest } from './finished-request.ts'

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
const everyMs = 1_000

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
  const nextBatch = batchMaker(rows, entries)
  /** A batch that delivery did not answer: it is sent again, which stores it once. */
  let pending = noBatch

  async function send(): Promise<boolean> {
    if (pending.requests.length === 0) pending = await nextBatch()
    const { length } = pending.requests
    if (length === 0) return false
    try {
      await delivery.recordRequests(pending)
      counts.inc({ outcome: 'stored' }, length)
    } catch (error) {
      if (!(error instanceof Failure && refusals.has(error.reason))) throw error
      log.error({ err: error, count: length }, 'API log refused')
      counts.inc({ outcome: 'refused' }, length)
    }
    pending = noBatch
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
        while (entries.size() + pending.requests.length > 0) await send()
      } catch (error) {
        log.warn(
          { err: error, count: entries.size() + pending.requests.length },
          'API log not sent',
        )
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

/** A parsed body takes about twice its text, and up to 20 times if it is made of empty objects. */
const parsedWeight = 4

/** About the memory that an entry keeps. */
function sizeOf({ response = '', requestBytes }: Entry): number {
  return response.length + parsedWeight * requestBytes
}
