// Proves that unary calls over HTTP/1.1 end correctly for every kind of body: none, in pieces, malformed.
import { type IncomingMessage, request } from 'node:http'
import { create, toBinary } from '@bufbuild/protobuf'
import { afterEach, describe, expect, it } from 'vitest'
import { SeenRequestSchema } from '#gen/payweave/events/v1/events_pb.js'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import type { RpcServer } from './server.ts'

let server: RpcServer | undefined

afterEach(() => server?.close())

const message = toBinary(SeenRequestSchema, create(SeenRequestSchema, { eventIds: ['one'] }))
const headers = {
  authorization: `Bearer ${bearerCredential}`,
  'content-type': 'application/proto',
  'connect-timeout-ms': '5000',
}

async function start() {
  const asked: string[][] = []
  const inbox = await startInbox(({ eventIds }, context) => {
    asked.push(eventIds)
    context.responseHeader.set('pw-kind', 'head')
    context.responseTrailer.set('pw-kind', 'tail')
    return {}
  })
  server = inbox.server
  return { ...inbox, asked }
}

/** Sends pieces of a body, and ends it unless asked not to. */
async function send(
  url: string,
  more: Record<string, string>,
  pieces: Uint8Array[],
  ends = true,
): Promise<{ status: number | undefined; headers: IncomingMessage['headers']; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const sent = request(`${url}/payweave.events.v1.InboxService/Seen`, {
    method: 'POST',
    headers: { ...headers, ...more },
  })
  sent.once('response', resolve)
  sent.once('error', reject)
  for (const piece of pieces) sent.write(piece)
  if (ends) sent.end()
  const response = await promise
  let text = ''
  for await (const chunk of response) text += String(chunk)
  sent.destroy()
  return { status: response.statusCode, headers: response.headers, text }
}

const length = { 'content-length': String(message.length) }

describe('a unary call', () => {
  it('a unary call is answered with or without a content-length, with the headers that the handler set', async () => {
    const { url, asked } = await start()
    const pieces = [message.subarray(0, 2), message.subarray(2)]
    for (const framing of [length, { 'transfer-encoding': 'chunked' }]) {
      const answer = await send(url, framing, pieces)
      expect(answer.status).toBe(200)
      expect(answer.headers).toMatchObject({
        'content-type': 'application/proto',
        'pw-kind': 'head',
        'trailer-pw-kind': 'tail',
      })
    }
    expect(asked).toEqual([['one'], ['one']])
  })

  it('a unary call is answered in time although its body does not come, and its handler does not run', async () => {
    const { url, asked, lines } = await start()
    const headers = { ...length, 'connect-timeout-ms': '100' }
    const answer = await send(url, headers, [message.subarray(0, 2)], false)
    expect(answer.status).toBe(504)
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'deadline_exceeded' })
    expect(asked).toEqual([])
    expect(lines.filter((line) => line['msg'] === 'rpc answered')).toHaveLength(1)
  })

  it('a unary call is refused and logged once when its body is no message or its time-out is malformed', async () => {
    const { url, asked, lines } = await start()
    const malformed = await send(url, { 'content-length': '1' }, [Buffer.from([0xff])])
    expect(malformed.status).toBe(400)
    expect(JSON.parse(malformed.text)).toMatchObject({ code: 'invalid_argument' })
    const timeless = await send(url, { ...length, 'connect-timeout-ms': 'soon' }, [message])
    expect(timeless.status).toBe(400)
    expect(asked).toEqual([])
    expect(lines.filter((line) => line['msg'] === 'rpc answered')).toHaveLength(2)
  })
})
