// Subscribes to subjects that no consumer confirms: changes that invalidate caches. A message may be lost; `onGap` says when.
import { fromBinary } from '@bufbuild/protobuf'
import { type Event, EventSchema } from '#gen/events/v1/events_pb.js'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Nats } from './nats/nats.ts'

export type InvalidationOptions = {
  nats: Nats
  subject: string
  log: Logger
  onEvent: (event: Event) => void
  /** Called at every connection to the broker: messages may have been lost before it. */
  onGap: () => void
}

/** Calls back for each event published while connected. */
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
      log.warn({ subject, err: error }, 'news not understood')
    }
  })
  return {
    close() {
      forget()
      end()
    },
  }
}
