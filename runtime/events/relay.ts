// Carries committed events to the broker. It must not hold a transaction open while it publishes, nor confirm what
// a consumer has to confirm.
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import { publishSpan } from '#runtime/spans.ts'
import { eventBytes } from './event-bytes.ts'
import type { OutboxMetrics } from './event-metrics.ts'
import type { Nats } from './nats.ts'
import { type ClaimedEvent, claimDue, markFailed, markPublished } from './outbox-store.ts'
import { createWake } from './wake.ts'

export type RelayOptions = {
  db: Database
  nats: Nats
  log: Logger
  metrics: OutboxMetrics
  /** True for a subject whose events end with the broker's acknowledgement. */
  endsWhenPublished: (subject: string) => boolean
  /** Called after events that a consumer must confirm were published. */
  onPublished: () => void
}

export interface Relay {
  /** Says that events were committed. Many calls make one round. */
  kick: () => void
  /** Finishes the batches in hand. */
  close(): Promise<void>
}

/** Longer than a publication may take with a look for the stream and a second one after it. */
export const leaseMs = 20_000
const retryMs = 1_000
const poll = { leastMs: 20, mostMs: 250 }
/** Between the beginnings of two claims: the commits of a busy moment gather into one batch, one that comes alone goes at once. */
const claimSpacingMs = 10
/** Batches that may be on their way to the broker while the next one is claimed. */
const mostUnderWay = 4
const fullBatch = 150
/** Share of a batch for republication while new events fill the rest. */
const busyShare = 50
/** While a consumer is down its events come back every minute; no more of them than this are let through. */
const republishPerS = 1_000

/** Starts the loop. It needs neither the broker nor the database to be up. */
export function startRelay(options: RelayOptions): Relay {
  const { nats, log } = options
  const wake = createWake()
  const allowance = republishAllowance()
  const forget = nats.onConnected(wake.wake)
  const stopping = new AbortController()
  let freshWasFull = false

  async function claim(): Promise<ClaimedEvent[]> {
    const limits = {
      fresh: fullBatch,
      again: allowance.take(freshWasFull ? busyShare : fullBatch),
      leaseMs,
    }
    const claimed = await claimDue(options.db, limits)
    const fresh = claimed.filter((event) => event.attempts === 0).length
    allowance.giveBack(limits.again - (claimed.length - fresh))
    freshWasFull = fresh >= fullBatch
    return claimed
  }

  async function run(): Promise<void> {
    const underWay = new Set<Promise<void>>()
    let idleMs = poll.leastMs
    while (!stopping.signal.aborted) {
      if (!nats.ready()) {
        await wake.pause(retryMs)
        continue
      }
      const beganMs = performance.now()
      try {
        const claimed = await claim()
        if (claimed.length > 0) {
          const carriage = carry(options, claimed)
            .catch((error: unknown) => log.warn({ err: error }, 'publications not noted'))
            .finally(() => underWay.delete(carriage))
          underWay.add(carriage)
        }
        if (underWay.size >= mostUnderWay) await Promise.race(underWay)
        idleMs = claimed.length > 0 ? poll.leastMs : Math.min(poll.mostMs, idleMs * 1.5)
        if (claimed.length >= fullBatch) continue
      } catch (error) {
        log.warn({ err: error }, 'events not relayed')
        idleMs = retryMs
      }
      if (!stopping.signal.aborted) await wake.pause(idleMs)
      const earlyMs = beganMs + claimSpacingMs - performance.now()
      if (!stopping.signal.aborted && earlyMs > 0) await delay(earlyMs)
    }
    await Promise.all(underWay)
  }

  const running = run()
  return {
    kick: wake.wake,
    close() {
      stopping.abort()
      forget()
      wake.wake()
      return running
    },
  }
}

/** Publishes a claimed batch and notes the outcome in one statement. */
async function carry(options: RelayOptions, claimed: ClaimedEvent[]): Promise<void> {
  const { db, nats, metrics, endsWhenPublished } = options
  const errors = await Promise.all(claimed.map((event) => publishEvent(nats, event)))
  const published = claimed.filter((_, index) => errors[index] === undefined)
  const failed = claimed.flatMap((event, index) => {
    const error = errors[index]
    return error === undefined ? [] : [{ eventId: event.event_id, error }]
  })
  if (published.length > 0) {
    const rows = published.map((event) => ({
      eventId: event.event_id,
      attempts: event.attempts,
      ends: endsWhenPublished(event.subject),
    }))
    await markPublished(db, rows)
    metrics.published.inc(rows.length)
    const ended = rows.filter((row) => row.ends).length
    metrics.confirmed.inc(ended)
    if (ended < rows.length) options.onPublished()
  }
  if (failed.length > 0) {
    await markFailed(db, failed, retryMs)
    metrics.failed.inc(failed.length)
  }
}

/**
 * Publishes; returns what went wrong. The number of past publications in the message id lets a repetition through the
 * broker's duplicate window, while a publication whose answer was lost stays one message.
 */
export async function publishEvent(nats: Nats, event: ClaimedEvent): Promise<string | undefined> {
  const span = publishSpan(event.subject, event.event_id, event.traceparent)
  try {
    const message = eventBytes(event, span?.traceparent ?? event.traceparent ?? '')
    await nats.publish(event.subject, message, `${event.event_id}:${event.attempts}`)
    span?.end()
    return undefined
  } catch (error) {
    span?.end({}, 'not_published')
    return error instanceof Error ? error.message.slice(0, 200) : 'unknown'
  }
}

function republishAllowance(): { take(most: number): number; giveBack(unused: number): void } {
  let left = republishPerS
  let at = performance.now()
  return {
    take(most) {
      const now = performance.now()
      left = Math.min(republishPerS, left + ((now - at) / 1_000) * republishPerS)
      at = now
      const taken = Math.min(most, Math.floor(left))
      left -= taken
      return taken
    },
    giveBack(unused) {
      left += unused
    },
  }
}
