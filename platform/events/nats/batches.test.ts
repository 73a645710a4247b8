// Batches of messages: what ends one, and the spacing between two.
import { expect, it } from 'vitest'
import { createManualTimers } from '../../testing/timers.ts'
import { type Incoming, inBatches, type Message, type ReceivedMessage } from './batches.ts'

it('a batch has the messages that have arrived, at most as many as asked for', async () => {
  const { batches, send } = arriving()
  send('a', 'b', 'c')
  expect(subjects(await batches.next(2))).toEqual(['a', 'b'])
  expect(subjects(await batches.next(2))).toEqual(['c'])
})

it('a message within the spacing waits for those that follow, and one after it waits for nothing', async () => {
  const { batches, send, timers } = arriving()
  send('first')
  expect(subjects(await batches.next(9, 50))).toEqual(['first'])

  await timers.advance(10)
  send('second')
  const together = batches.next(9, 50)
  await timers.advance(39)
  send('third')
  await timers.advance(1)
  expect(subjects(await together)).toEqual(['second', 'third'])

  await timers.advance(50)
  send('fourth')
  expect(subjects(await batches.next(9, 50))).toEqual(['fourth'])
})

it('a full batch and the last one do not wait for the spacing', async () => {
  const { batches, send, stop } = arriving()
  send('first')
  await batches.next(9, 50)
  send('second', 'third')
  expect(subjects(await batches.next(2, 50))).toEqual(['second', 'third'])
  send('fourth')
  const last = batches.next(9, 50)
  stop()
  expect(subjects(await last)).toEqual(['fourth'])
  expect(await batches.next(9, 50)).toBeUndefined()
})

const subjects = (batch: ReceivedMessage[] | undefined) => batch?.map(({ subject }) => subject)

/** Batches of the messages that a test sends, by timers that it moves. */
function arriving() {
  const timers = createManualTimers()
  const stream = new TransformStream<Message, Message>(undefined, { highWaterMark: 99 })
  const writer = stream.writable.getWriter()
  const stop = () => void writer.close()
  const incoming: Incoming = Object.assign(messagesOf(stream.readable), { stop })
  return {
    timers,
    stop,
    batches: inBatches(incoming, timers),
    send(...names: string[]) {
      for (const subject of names) void writer.write(messageOf(subject))
    },
  }
}

async function* messagesOf(readable: ReadableStream<Message>): AsyncGenerator<Message> {
  yield* readable
}

const messageOf = (subject: string): Message => ({
  subject,
  data: new Uint8Array(),
  info: { deliveryCount: 1 },
  ack: () => undefined,
  nak: () => undefined,
  term: () => undefined,
})
