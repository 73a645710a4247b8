// Reads messages of a durable consumer in batches of what is there. Does not import the client library: nats.ts does.

/** A message that is not acknowledged yet. It is delivered again after 30 s unless one of the three is called. */
export type Carried = {
  subject: string
  payload: Uint8Array
  /** `Nats-Msg-Id` that the publisher set. */
  messageId: string | undefined
  /** 1 at the first delivery. */
  deliveries: number
  ack(): void
  /** Have it delivered again, never at once. */
  retry(delayMs: number): void
  /** Never again. */
  refuse(): void
}

export interface Batches {
  /** The next messages, at least one; undefined when the consumer is lost, or stopped and all are taken. */
  next(max: number): Promise<Carried[] | undefined>
  /** Stops pulling. */
  stop(): void
}

/** What this file needs of the library's message. */
export interface Message {
  subject: string
  data: Uint8Array
  headers?: { get(name: string): string } | undefined
  info: { deliveryCount: number }
  ack(): void
  nak(delayMs: number): void
  term(): void
}

/** Messages that keep coming until the consumer is lost or stopped. */
export type Incoming = AsyncIterable<Message> & { stop(): void }

/** Takes the messages over. */
export function inBatches(messages: Incoming): Batches {
  const iterator = messages[Symbol.asyncIterator]()
  let coming = following(iterator)
  return {
    async next(max) {
      const first = await coming
      if (first === undefined) return undefined
      const batch = [carried(first)]
      coming = following(iterator)
      // What has arrived already resolves before the event loop turns.
      const turned = new Promise<'turned'>((resolve) => setImmediate(resolve, 'turned'))
      while (batch.length < max) {
        const more = await Promise.race([coming, turned])
        if (more === undefined || more === 'turned') break
        batch.push(carried(more))
        coming = following(iterator)
      }
      return batch
    },
    stop: () => messages.stop(),
  }
}

/** The next message; undefined at the end, however it came. */
function following(iterator: AsyncIterator<Message>): Promise<Message | undefined> {
  return iterator.next().then(
    (result) => (result.done === true ? undefined : result.value),
    () => undefined,
  )
}

function carried(message: Message): Carried {
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

/** A closed connection takes no answer; the message is then delivered again. */
function answer(send: () => void): void {
  try {
    send()
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'CONNECTION_CLOSED') throw error
  }
}
