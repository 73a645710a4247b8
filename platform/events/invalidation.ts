// Subscribes to subjects without confirmation: changes that invalidate caches. Messages may be lost; `onGap` reports
// it.
import { fromBinary } from '@bufbuild/protobuf'
import { type Event, EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Nats } from './nats/nats.ts'

export type InvalidationOptions = {
  nats: Nats
  subject: string
  log: Logger
  /** Called for each event; what it throws is logged. */
  onEvent: (event: Event) => void
  /** Called at every connection to the broker: messages may have been lost before it. */
  onGap: () => void
}

/**
 * Subscribes to events that invalidate caches, while connected. A message that cannot be decoded, or whose `onEvent`
 * throws, is logged and dropped.
 */
export function subscribeInvalidation({
  nats,
  subject,
  log,
  onEvent,
  onGap,
}: InvalidationOptions): {
  close(): void
} {
  const forget = nats.onConnected(onGap)
  const end = nats.subscribe(subject, (payload) => {
    try {
      onEvent(fromBinary(EventSchema, payload))
    } catch (error) {
      log.warn({ subject, err: error }, 'invalidation not understood')
    }
  })
  return {
    close() {
      forget()
      end()
    },
  }
}
