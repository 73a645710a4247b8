// How large messages may be, how long calls may take, and the refusals of calls that exceed a server's limits.

import { Failure } from '#core/errors/errors.ts'

/** Maximum bytes of a message. */
export const maxMessageBytes = 4 * 1024 * 1024
/** Maximum bytes of a request message of health and reflection, which have only a name. */
export const maxNameMessageBytes = 4 * 1024

/** Maximum time that a caller may ask for, in ms; a longer time-out is cut to it. */
export const maxTimeoutMs = 60_000
/** Maximum time of a stream that lasts, in ms: a watch, a tail. */
export const maxStreamMs = 24 * 3_600_000

/** Makes (does not throw) the MESSAGE_TOO_LARGE for a message over the limit of its method. */
export function messageTooLarge(maxBytes: number): Failure {
  return new Failure('MESSAGE_TOO_LARGE', `message is over ${maxBytes} bytes`)
}

/** Makes (does not throw) the SERVER_OVERLOADED for a call whose bytes the server has no room for. */
export function tooManyBytes(): Failure {
  return new Failure(
    'SERVER_OVERLOADED',
    'too many request bytes are in flight on this connection or server, retry later',
  )
}

/** Makes (does not throw) the SERVER_OVERLOADED for a call beyond those that may be in flight without a credential. */
export function tooManyCalls(): Failure {
  return new Failure(
    'SERVER_OVERLOADED',
    'too many calls without a credential are in flight on this connection, retry later',
  )
}
