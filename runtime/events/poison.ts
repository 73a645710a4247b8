// How a handler refuses one event for good. It must not be thrown for what may pass: a lock, a time-out, a bug.

/** Thrown by a handler: this event can never be worked on. The others of its batch are handled without it. */
export class PoisonEvent extends Error {
  override readonly name = 'PoisonEvent'
  readonly eventId: string

  constructor(eventId: string, reason: string) {
    super(reason)
    this.eventId = eventId
  }
}
