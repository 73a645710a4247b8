// Publishes to the stream and waits for the broker's acknowledgements, all over one subscription. Only nats.ts and
// open.ts import the client library.
//
// Written here because the library's own publication makes a request, a timer of promises and an error with a stack for
// each message.

type Answer = { subject: string; data: Uint8Array; headers?: { code: number } | undefined }

/** The library's connection, as far as this file needs it. */
export interface PublishingLink<H> {
  /** Throws when the connection is closed or the message is too large. */
  publish(subject: string, payload: Uint8Array, options: { reply: string; headers: H }): void
  /** Calls back for each message of a subject while connected. */
  subscribe(
    subject: string,
    options: { callback(error: Error | null, message: Answer): void },
  ): unknown
  /** Resolves when the connection is lost, or was closed. */
  closed(): Promise<unknown>
}

/** The broker's answer to a publication, as far as we read it: the place in the stream, or why there is none. */
type PubAck = { stream?: string; error?: { code: number } }

/** No acknowledgement: `code` is the broker's, `noAnswer`, `CONNECTION_CLOSED` or `INVALID_ACK`. */
class Unacknowledged extends Error {
  readonly code: string

  constructor(code: string) {
    super(`the publication was not acknowledged: ${code}`)
    this.code = code
  }
}

/** No acknowledgement came in time; the message may be in the stream all the same. */
export const noAnswer = 'TIMEOUT'
const connectionClosed = 'CONNECTION_CLOSED'
const malformed = 'INVALID_ACK'

/**
 * Publishes; resolves once the message is in the stream. Rejects with `Unacknowledged`, or with the library's error
 * when the connection is closed or the message is too large.
 */
export type PublishAcknowledged<H> = (
  subject: string,
  payload: Uint8Array,
  headers: H,
) => Promise<void>

/** Makes the publisher of a connection. Replies come below `inbox`, which no other publisher may share. */
export function acknowledgedBy<H>(
  link: PublishingLink<H>,
  inbox: string,
  timeoutMs: number,
): PublishAcknowledged<H> {
  const waiting = new Map<string, (failure: Unacknowledged | undefined) => void>()
  let count = 0

  link.subscribe(`${inbox}.*`, {
    callback(_, answer) {
      waiting.get(answer.subject)?.(failureOf(answer))
    },
  })
  void giveUpWhenClosed()

  async function giveUpWhenClosed(): Promise<void> {
    await link.closed()
    for (const settle of waiting.values()) settle(new Unacknowledged(connectionClosed))
  }

  return (subject, payload, headers) =>
    new Promise((resolve, reject) => {
      count += 1
      const reply = `${inbox}.${count.toString(36)}`
      // Throws, and with it rejects, when the connection is closed or the message too large.
      link.publish(subject, payload, { reply, headers })
      const timer = setTimeout(() => settle(new Unacknowledged(noAnswer)), timeoutMs)
      function settle(failure: Unacknowledged | undefined): void {
        waiting.delete(reply)
        clearTimeout(timer)
        if (failure === undefined) resolve()
        else reject(failure)
      }
      waiting.set(reply, settle)
    })
}

function failureOf({ data, headers }: Answer): Unacknowledged | undefined {
  // A status without a body means "no responders": no stream has the subject, or none just now.
  if (headers !== undefined && headers.code >= 400) return new Unacknowledged(String(headers.code))
  const { stream, error } = parsed(data)
  if (error !== undefined) return new Unacknowledged(String(error.code))
  return stream === undefined || stream === '' ? new Unacknowledged(malformed) : undefined
}

function parsed(data: Uint8Array): PubAck {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString())
  } catch {
    return {}
  }
}
