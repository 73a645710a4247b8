// Listens to subjects that no consumer confirms. It must not be used for facts that may not be missed.
import { fromBinary } from '@bufbuild/protobuf'
import { type Event, EventSchema } from '#gen/events/v1/events_pb.js'
import type { Logger } from '#runtime/log.ts'
import type { Nats } from './nats.ts'

export type NewsOptions = {
  nats: Nats
  subject: string
  log: Logger
  onEvent: (event: Event) => void
  /** Called at every connection to the broker: news may have been missed before it. */
  onGap: () => void
}

/** Calls back for each event published while connected. */
export function listenForNews({ nats, subject, log, onEvent, onGap }: NewsOptions): {
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
