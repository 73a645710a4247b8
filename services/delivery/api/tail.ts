// Streams ended attempts to tailing clients across replicas, without slowing down the sender.
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Failure } from '#core/errors/errors.ts'
import {
  type DeliveryChange,
  DeliveryChangesSchema,
  type TailDeliveriesResponseSchema,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { Nats } from '#platform/events/nats/nats.ts'
import { createSignal } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { DeliveryKind } from '../domain/delivery.ts'
import type { EndedAttempt } from '../workers/completer.ts'
import { wireKinds, wireOutcomes, wireStates } from './messages.ts'

/** What a tail sends. */
export type TailItem = MessageInitShape<typeof TailDeliveriesResponseSchema>

/** Which deliveries a tail shows. */
export interface TailFilter {
  projectId: string
  kind: DeliveryKind | undefined
  /** The person of the console who reads; undefined: a bearer, which many people may use. */
  person: string | undefined
}

/** Dependencies of the tail. */
export interface TailOptions {
  nats: Pick<Nats, 'announce' | 'subscribe' | 'onConnected'>
  log: Logger
  /** Maximum changes that wait for one reader; 1,000 by default. */
  bufferLimit?: number
  /** Maximum silence of a tail, which a heartbeat then ends; 15 s by default. */
  heartbeatMs?: number
  /** Maximum readers at once; 64 by default. */
  readerLimit?: number
  /** Maximum readers of one project at once; 16 by default. */
  projectLimit?: number
  /** Maximum tails that one person has open at once, of all projects; 8 by default. */
  personLimit?: number
}

/** The tail of one replica. */
export interface Tail {
  /**
   * Publishes attempts to all replicas while any client tails. Messages that cannot be published are lost to the tails.
   */
  report(ended: EndedAttempt[]): void
  /**
   * Yields a heartbeat first, then changes, gaps and heartbeats, until the signal aborts. Throws RATE_LIMIT_EXCEEDED,
   * when it is first read, if too many tails are open in all, of the project or by the person.
   */
  open(filter: TailFilter, signal: AbortSignal): AsyncGenerator<TailItem>
  /** Ends all readers and the subscriptions. */
  close(): void
}

// Outside of the stream's subjects: these are not stored.
const changesSubject = 'pwtail.delivery.changes'
const wantedSubject = 'pwtail.delivery.wanted'
const wantedForMs = 15_000
const sayWantedMs = 5_000

interface Reader {
  filter: TailFilter
  offer(change: DeliveryChange): void
  miss(): void
  end(): void
}

/**
 * Makes the tail of this replica, whose `open` throws RATE_LIMIT_EXCEEDED past its limits. It publishes only while a
 * client tails on any replica, so that without one the sender does no extra work.
 */
export function createTail(options: TailOptions): Tail {
  const { nats, log, bufferLimit = 1_000, heartbeatMs = 15_000 } = options
  const readers = new Set<Reader>()
  let wantedUntilMs = Number.NEGATIVE_INFINITY

  function want(): void {
    wantedUntilMs = performance.now() + wantedForMs
  }

  function hear(payload: Uint8Array): void {
    if (readers.size === 0) return
    try {
      for (const change of fromBinary(DeliveryChangesSchema, payload).changes) {
        for (const reader of readers) if (fits(change, reader.filter)) reader.offer(change)
      }
    } catch (error) {
      log.warn({ err: error }, 'tail message not understood')
    }
  }

  function sayWanted(): void {
    if (readers.size === 0) return
    want()
    nats.announce(wantedSubject, new Uint8Array())
  }

  const sayer = setInterval(sayWanted, sayWantedMs)
  sayer.unref()
  let connections = 0
  const forget = [
    nats.subscribe(wantedSubject, want),
    nats.subscribe(changesSubject, hear),
    nats.onConnected(() => {
      connections += 1
      if (connections > 1) for (const reader of readers) reader.miss()
      sayWanted()
    }),
    () => clearInterval(sayer),
  ]

  return {
    report(ended) {
      if (performance.now() > wantedUntilMs) return
      const changes = ended.map(changeOf)
      nats.announce(
        changesSubject,
        toBinary(DeliveryChangesSchema, create(DeliveryChangesSchema, { changes })),
      )
    },
    async *open(filter, signal) {
      if (isFull(readers, filter, options)) {
        throw new Failure('RATE_LIMIT_EXCEEDED', 'too many tails are open')
      }
      const { reader, items } = createReader(filter, bufferLimit, heartbeatMs)
      readers.add(reader)
      // Listens for the abort too: a client that disconnects while an item is sent never asks for the next one.
      const leave = (): void => {
        readers.delete(reader)
        reader.end()
      }
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
      sayWanted()
      try {
        yield* items()
      } finally {
        leave()
      }
    },
    close() {
      for (const end of forget) end()
      for (const reader of readers) reader.end()
    },
  }
}

/** Whether one more tail would be too many: those of one project or one person must leave room for all others. */
function isFull(
  readers: ReadonlySet<Reader>,
  { projectId, person }: TailFilter,
  { readerLimit = 64, projectLimit = 16, personLimit = 8 }: TailOptions,
): boolean {
  const open = [...readers].map(({ filter }) => filter)
  return (
    open.length >= readerLimit ||
    open.filter((one) => one.projectId === projectId).length >= projectLimit ||
    (person !== undefined && open.filter((one) => one.person === person).length >= personLimit)
  )
}

function fits(change: DeliveryChange, { projectId, kind }: TailFilter): boolean {
  return change.projectId === projectId && (kind === undefined || change.kind === wireKinds[kind])
}

/** A bounded buffer: changes that arrive while it is full are counted, and reported as a gap where they are missing. */
function createReader(filter: TailFilter, limit: number, heartbeatMs: number) {
  const wakeup = createSignal()
  let buffer: TailItem[] = []
  let dropped = 0n
  let missed = false
  let ended = false

  function markGap(): void {
    if (dropped === 0n && !missed) return
    const droppedCount = missed ? 0n : dropped
    buffer.push({ event: { case: 'gap', value: { droppedCount } } })
    dropped = 0n
    missed = false
  }

  const reader: Reader = {
    filter,
    offer(change) {
      if (buffer.length >= limit) {
        dropped += 1n
        return
      }
      markGap()
      buffer.push({ event: { case: 'change', value: change } })
      wakeup.notify()
    },
    miss() {
      missed = true
      wakeup.notify()
    },
    end() {
      ended = true
      buffer = []
      wakeup.notify()
    },
  }

  async function* items(): AsyncGenerator<TailItem> {
    yield heartbeat
    for (;;) {
      if (buffer.length === 0) markGap()
      const batch = buffer
      buffer = []
      for (const item of batch) {
        yield item
        if (ended) return
      }
      if (ended) return
      if (buffer.length > 0) continue
      const quietSinceMs = performance.now()
      await wakeup.pause(heartbeatMs)
      // A heartbeat is due only after a whole pause: one that was cut short does not count. A timer may fire a moment
      // early.
      if (performance.now() - quietSinceMs > heartbeatMs - 10 && buffer.length === 0)
        yield heartbeat
    }
  }
  return { reader, items }
}

const heartbeat: TailItem = { event: { case: 'heartbeat', value: {} } }

function changeOf({ claimed, end, completed }: EndedAttempt) {
  const nextAttemptAt = completed?.nextAttemptAt ?? null
  return {
    deliveryId: claimed.deliveryId,
    projectId: claimed.projectId,
    kind: wireKinds[claimed.kind],
    subjectId: claimed.subjectId,
    origin: new URL(claimed.url).origin,
    ...(completed === undefined ? {} : { state: wireStates[completed.state] }),
    occurredTime: timestampFromDate(claimed.occurredAt),
    attempt: {
      number: claimed.number,
      round: claimed.round,
      startTime: timestampFromDate(claimed.startedAt),
      outcome: wireOutcomes[end.outcome],
      status: end.status ?? 0,
      durationMs: end.totalMs,
      peerAddress: end.peerAddress ?? '',
      error: end.error ?? '',
      resolveMs: end.resolveMs,
      connectMs: end.connectMs,
      firstByteMs: end.firstByteMs,
      retryAfterS: end.retryAfterS,
      ...(nextAttemptAt === null ? {} : { nextAttemptTime: timestampFromDate(nextAttemptAt) }),
    },
  }
}
