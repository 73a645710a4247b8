// An event as the outbox stores it.

/** An event for the outbox. */
export type StoredEvent = {
  eventId: string
  subject: string
  payload: Uint8Array
  traceparent: string | undefined
  requestId: string | undefined
}
