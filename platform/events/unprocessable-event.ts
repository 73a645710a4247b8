// The error by which a handler rejects one event permanently. Not for transient failures: a lock, a time-out, a bug.

/**
 * Thrown by a handler: this event can never be processed and becomes a dead letter. The others of its batch are handled
 * without it.
 */
export class UnprocessableEvent extends Error {
  override readonly name = 'UnprocessableEvent'
  readonly eventId: string

  constructor(eventId: string, reason: string) {
    super(reason)
    this.eventId = eventId
  }
}
