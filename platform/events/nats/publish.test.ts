// Tests what counts as an acknowledgement of the broker, and what else ends a publication.
import { expect, it } from 'vitest'
import { acknowledgedBy, type PublishingConnection } from './connection.ts'

type ReplyMessage = { data: Uint8Array; headers?: { code: number } }
type Callback = Parameters<PublishingConnection<null>['subscribe']>[1]['callback']

/** A connection whose broker gives these answers, one to each publication; `undefined` is silence. */
function connectionOf(answers: (ReplyMessage | undefined)[]) {
  const lost = Promise.withResolvers<void>()
  let respond: Callback = () => undefined
  const connection: PublishingConnection<null> = {
    subscribe(_, { callback }) {
      respond = callback
    },
    publish(_, __, { reply }) {
      const answer = answers.shift()
      if (answer !== undefined) queueMicrotask(() => respond(null, { subject: reply, ...answer }))
    },
    closed: () => lost.promise,
  }
  return { connection, lose: () => lost.resolve() }
}

const json = (value: unknown): ReplyMessage => ({ data: Buffer.from(JSON.stringify(value)) })
const nothing = Buffer.alloc(0)

function publishing(answers: (ReplyMessage | undefined)[], timeoutMs = 1_000) {
  const { connection, lose } = connectionOf(answers)
  const publish = acknowledgedBy(connection, 'inbox', timeoutMs)
  return { lose, publish: () => publish('pw.some.event', nothing, null) }
}

it('a place in the stream acknowledges a publication, also that of a message which was there before', async () => {
  const { publish } = publishing([
    json({ stream: 'S', seq: 1 }),
    json({ stream: 'S', seq: 1, duplicate: true }),
  ])
  await expect(Promise.all([publish(), publish()])).resolves.toHaveLength(2)
})

it.each([
  ['an error of the stream', json({ error: { code: 503, err_code: 10_077 } }), '503'],
  ['nobody who takes the subject', { data: nothing, headers: { code: 503 } }, '503'],
  ['an answer that names no stream', json({ seq: 1 }), 'INVALID_ACK'],
  ['an answer that is no JSON', { data: Buffer.from('+OK') }, 'INVALID_ACK'],
])('a publication that gets %s fails', async (_, answer, code) => {
  await expect(publishing([answer]).publish()).rejects.toMatchObject({ code })
})

it('each publication gets its own answer, in any order of answers', async () => {
  const { publish } = publishing(
    [undefined, json({ stream: 'S', seq: 1 }), json({ error: { code: 400 } })],
    50,
  )
  const outcomes = await Promise.allSettled([publish(), publish(), publish()])
  expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason.code : 'there'))).toEqual([
    'TIMEOUT',
    'there',
    '400',
  ])
})

it('a lost connection ends what waits for an answer', async () => {
  const { publish, lose } = publishing([undefined])
  const waiting = publish()
  lose()
  await expect(waiting).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
})
