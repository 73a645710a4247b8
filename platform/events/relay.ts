// Publishes committed events to the broker. Holds no transaction open while it publishes; consumers confirm, not the
// relay.
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { publishSpan } from '#platform/telemetry/spans.ts'
import { startLoop } from '../process/loop.ts'
import type { OutboxMetrics } from './event-metrics.ts'
import type { Nats } from './nats/nats.ts'
import { type ClaimedEvent, claimDue, markFailed, markPublished } from './outbox-store.ts'

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
  /** Starts a round soon, after events were committed. Many calls make one round. */
  notify: () => void
  /** Stops after the current batches. */
  close(): Promise<void>
}

/** Longer than a publication takes at most, with a check for the stream and a second publication. */
const leaseMs = 20_000
const retryMs = 1_000
/** Writers notify after their commits: polling finds what a process that died has left. */
const poll = { minMs: 20, maxMs: 1_000 }
/** Between the starts of two claims: commits of a busy moment make one batch, and a single one goes at once. */
const claimSpacingMs = 10
/** Batches being published while the next one is claimed. */
const maxInFlight = 4
const fullBatch = 150
/** Share of a batch for republication while new events fill the rest. */
const busyShare = 50
/** Limits republication: while a consumer is down, each of its events is due again every minute. */
const republishPerS = 1_000

/** Starts the loop. It needs neither the broker nor the database to be up: errors are logged and tried again. */
export function startRelay(options: RelayOptions): Relay {
  const { nats, log } = options
  const allowance = republishAllowance()
  const inFlight = new Set<Promise<void>>()
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

  /** Claims a batch and publishes it without waiting for the broker, unless too many batches are in flight. */
  async function relay(): Promise<boolean | number> {
    if (!nats.ready()) return retryMs
    const claimed = await claim()
    if (claimed.length === 0) return false
    const published = publishClaimed(options, claimed, retrySoon)
      .catch((error: unknown) => log.warn({ err: error }, 'publications not recorded'))
      .finally(() => inFlight.delete(published))
    inFlight.add(published)
    if (inFlight.size >= maxInFlight) await Promise.race(inFlight)
    return claimed.length >= fullBatch ? true : poll.minMs
  }

  /** Wakes the loop when failed publications are due, not up to a poll later. */
  const retrySoon = () => void setTimeout(loop.notify, retryMs).unref()
  const loop = startLoop({
    kind: 'relay',
    log,
    pauseMs: poll.minMs,
    idlePauseMs: poll.maxMs,
    gatherMs: ({ agoMs }) => claimSpacingMs - agoMs,
    round: relay,
  })
  const forget = nats.onConnected(loop.notify)
  return {
    notify: loop.notify,
    async close() {
      forget()
      await loop.close()
      await Promise.all(inFlight)
    },
  }
}

/** Publishes a claimed batch and notes the outcome in one statement. */
async function publishClaimed(
  options: RelayOptions,
  claimed: ClaimedEvent[],
  onFailed: () => void,
): Promise<void> {
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
    onFailed()
  }
}

/**
 * Publishes; resolves to what went wrong (at most 200 characters), and never rejects. The number of past publications
 * in the message id lets a repetition pass the broker's deduplication, while a publication whose acknowledgement was
 * lost stays one message.
 */
export async function publishEvent(nats: Nats, event: ClaimedEvent): Promise<string | undefined> {
  const span = publishSpan(event.subject, event.event_id, event.traceparent)
  try {
    const message = encode(event, span?.traceparent ?? event.traceparent ?? '')
    await nats.publish(event.subject, message, `${event.event_id}:${event.attempts}`)
    span?.end()
    return undefined
  } catch (error) {
    span?.end({}, 'not_published')
    return error instanceof Error ? error.message.slice(0, 200) : 'unknown'
  }
}

/** The event as a message, with the trace that its receiver continues. */
function encode(event: ClaimedEvent, traceparent: string): Uint8Array {
  const message = create(EventSchema, {
    eventId: event.event_id,
    subject: event.subject,
    occurredTime: timestampFromDate(event.occurred_at),
    projectId: event.project_id ?? '',
    payload: event.payload,
    traceparent,
    requestId: event.request_id ?? '',
  })
  return toBinary(EventSchema, message)
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
