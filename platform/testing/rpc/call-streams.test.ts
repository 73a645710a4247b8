// Shows how dialling a call stream ends when the server does not respond.
import { once } from 'node:events'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { dialCallStream } from './call-streams.ts'

const { NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR } = http2.constants

it.each([
  ['without an error', NGHTTP2_NO_ERROR, 'the stream closed without a response'],
  ['with an error', NGHTTP2_INTERNAL_ERROR, 'NGHTTP2_INTERNAL_ERROR'],
])('a call stream that closes %s before its head rejects', async (_how, code, message) => {
  const server = http2.createServer()
  server.on('stream', (stream) => {
    stream.on('error', () => undefined)
    stream.close(code)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await expect(dialCallStream(port)).rejects.toThrow(message)
  // Waits until the client has ended its connection.
  await new Promise((resolve) => server.close(resolve))
})
