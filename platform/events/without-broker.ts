// Sends events to their consumers by RPC when the broker did not take them. The consumers record them in the same inbox, so an
// event that the broker has stored all the same is processed once.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { InboxState } from '#gen/payweave/events/v1/events_pb.js'
import type { ClaimedEvent } from './outbox-store.ts'

/** An event as a message; `payweave.events.v1.Event` describes the fields. */
export type EventMessage = {
  eventId: string
  subject: string
  occurredTime: ReturnType<typeof timestampFromDate>
  projectId: string
  payload: Uint8Array
  traceparent: string
  requestId: string
}

type Known = { known: { eventId: string; state: InboxState }[] }
type CallOptions = { signal?: AbortSignal; timeoutMs?: number }

/** The inbox of a consumer; a client of payweave.events.v1.InboxService is one. Each RPC rejects with its Failure. */
export type InboxClient = {
  /** Asks which of these events (UUIDs) the consumer has processed or rejected. */
  seen(request: { eventIds: string[] }, options?: CallOptions): Promise<Known>
  /** Has the consumer process events, and returns those that it has. */
  processEvents(request: { events: EventMessage[] }, options?: CallOptions): Promise<Known>
}

/** By name, the consumers that must confirm the events of a subject; undefined for a subject of another release. */
export type ConsumersOf = (subject: string) => Readonly<Record<string, InboxClient>> | undefined

const maxEvents = 100
/** Well below the 4 MiB of a message; an event has at most 512 KiB. */
const maxBytes = 1024 * 1024
const timeoutMs = 2_000

/**
 * Sends events to all their consumers; resolves to the ids of those that each of them has processed, and never rejects. Events
 * without consumers are not sent.
 */
export async function processAtConsumers(
  consumersOf: ConsumersOf,
  events: readonly ClaimedEvent[],
): Promise<Set<string>> {
  const byClient = eventsByClient(consumersOf, events)
  const processed = new Set([...byClient.values()].flat().map(({ event_id: id }) => id))
  const answers = [...byClient].map(async ([client, own]) => {
    const seen = await processAt(client, own)
    for (const { event_id: id } of own) if (!seen.has(id)) processed.delete(id)
  })
  await Promise.all(answers)
  return processed
}

/** The events that each consumer must confirm. */
export function eventsByClient(
  consumersOf: ConsumersOf,
  events: readonly ClaimedEvent[],
): Map<InboxClient, ClaimedEvent[]> {
  const byClient = new Map<InboxClient, ClaimedEvent[]>()
  for (const event of events) {
    for (const client of Object.values(consumersOf(event.subject) ?? {})) {
      const own = byClient.get(client) ?? []
      byClient.set(client, own)
      own.push(event)
    }
  }
  return byClient
}

/** The events that one consumer has processed; the first request that fails ends it. */
async function processAt(client: InboxClient, events: ClaimedEvent[]): Promise<Set<string>> {
  const seen = new Set<string>()
  try {
    for (const page of pagesOf(events)) {
      const { known } = await client.processEvents(
        { events: page.map((event) => eventMessage(event)) },
        { timeoutMs },
      )
      for (const { eventId, state } of known) if (state === InboxState.SEEN) seen.add(eventId)
    }
  } catch {
    // Not logged here: the publisher retries the events, and the loop that asks for confirmations reports the consumer.
  }
  return seen
}

function pagesOf(events: readonly ClaimedEvent[]): ClaimedEvent[][] {
  const pages: ClaimedEvent[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const event of events) {
    bytes += event.payload.length
    const page = pages.at(-1)
    if (page === undefined || bytes > maxBytes || page.length >= maxEvents) {
      pages.push([event])
      bytes = event.payload.length
    } else page.push(event)
  }
  return pages
}

/** An event of the outbox as a message. `traceparent`: the trace that its consumer continues. */
export function eventMessage(
  event: ClaimedEvent,
  traceparent = event.traceparent ?? '',
): EventMessage {
  return {
    eventId: event.event_id,
    subject: event.subject,
    occurredTime: timestampFromDate(event.occurred_at),
    projectId: event.project_id ?? '',
    payload: event.payload,
    traceparent,
    requestId: event.request_id ?? '',
  }
}
