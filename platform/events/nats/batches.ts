// Reads the messages of a durable consumer in batches of those that have arrived. Only nats.ts imports the client
// library.
import { systemTimers, type Timers } from '#platform/process/loop.ts'

/** A message that is not acknowledged yet. It is delivered again after 30 s unless one of the three is called. */
export type ReceivedMessage = {
  subject: string
  payload: Uint8Array
  /** `Nats-Msg-Id` that the publisher set. */
  messageId: string | undefined
  /** 1 at the first delivery. */
  deliveries: number
  /** Acknowledges the message. Like `retry` and `refuse`, it does nothing when the connection is closed. */
  ack(): void
  /** Has the message delivered again after a delay. */
  retry(delayMs: number): void
  /** Rejects the message: it is never delivered again. */
  refuse(): void
}

export interface Batches {
  /**
   * The next messages, at least one and at most `max`; undefined when the consumer is lost, or is stopped and all were
   * returned. Never rejects. A batch ends with what has arrived, but `spacingMs` after the one before it at the earliest: so
   * the messages of a busy subject come together, and a message after a pause waits for nothing.
   */
  next(max: number, spacingMs?: number): Promise<ReceivedMessage[] | undefined>
  /** Stops pulling; messages that have arrived still come. */
  stop(): void
}

/** The library's message, as far as this file needs it; `nak` takes milliseconds. */
export interface Message {
  subject: string
  data: Uint8Array
  headers?: { get(name: string): string } | undefined
  info: { deliveryCount: number }
  /** Like the other two, throws an error with the code CONNECTION_CLOSED once the connection is closed. */
  ack(): void
  /** Has it delivered again after a delay. */
  nak(delayMs: number): void
  /** Has it never delivered again. */
  term(): void
}

/** Messages that keep coming until the consumer is lost or stopped. */
export type Incoming = AsyncIterable<Message> & {
  /** Ends the iteration after what has arrived. */
  stop(): void
}

/** Reads messages in batches of what has arrived. */
export function inBatches(messages: Incoming, timers: Timers = systemTimers): Batches {
  const iterator = messages[Symbol.asyncIterator]()
  let coming = following(iterator)
  let endedMs = Number.NEGATIVE_INFINITY
  return {
    async next(max, spacingMs = 0) {
      const first = await coming
      if (first === undefined) return undefined
      const batch = [received(first)]
      coming = following(iterator)
      const end = endAfter(endedMs + spacingMs - timers.nowMs(), timers)
      while (batch.length < max) {
        const more = await Promise.race([coming, end.reached])
        if (more === undefined || more === 'end') break
        batch.push(received(more))
        coming = following(iterator)
      }
      end.cancel()
      endedMs = timers.nowMs()
      return batch
    },
    stop: () => messages.stop(),
  }
}

/**
 * The end of a batch: in `ms`, or with what has arrived. A message that has arrived resolves before `setImmediate` does.
 */
function endAfter(ms: number, timers: Timers): { reached: Promise<'end'>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<'end'>()
  const reach = () => resolve('end')
  if (ms > 0) return { reached: promise, cancel: timers.after(ms, reach) }
  const turn = setImmediate(reach)
  return { reached: promise, cancel: () => clearImmediate(turn) }
}

/** The next message; undefined at the end of the iterator and after its error. */
function following(iterator: AsyncIterator<Message>): Promise<Message | undefined> {
  return iterator.next().then(
    (result) => (result.done === true ? undefined : result.value),
    () => undefined,
  )
}

function received(message: Message): ReceivedMessage {
  return {
    subject: message.subject,
    payload: message.data,
    messageId: message.headers?.get('Nats-Msg-Id') || undefined,
    deliveries: message.info.deliveryCount,
    ack: () => answer(() => message.ack()),
    retry: (delayMs) => answer(() => message.nak(delayMs)),
    refuse: () => answer(() => message.term()),
  }
}

/** Ignores that the connection is closed: the broker then delivers the message again. */
function answer(send: () => void): void {
  try {
    send()
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'CONNECTION_CLOSED') throw error
  }
}
