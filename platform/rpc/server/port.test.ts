// Tests that a hostile or broken peer cannot affect the port's other peers.

import { connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'

let started: Awaited<ReturnType<typeof startInbox>>
let entered = 0
beforeAll(async () => {
  started = await startInbox(
    async () => {
      entered += 1
      await new Promise((resolve) => setTimeout(resolve, 20))
      return { known: [] }
    },
    { graceMs: 200 },
  )
})
afterAll(() => started.server.close())

const path = '/payweave.events.v1.InboxService/Seen'
const authorization = `Bearer ${bearerCredential}`

async function works(): Promise<boolean> {
  const response = await fetch(`${started.url}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{}',
  })
  return response.ok && (await response.text()) === '{}'
}

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(started.server.port, '127.0.0.1')
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}

/** All that comes back until it is whole or the peer closes. */
function answer(socket: Socket, isWhole: (text: string) => boolean): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const done = () => {
      socket.destroy()
      resolve(text)
    }
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (isWhole(text)) done()
    })
    socket.on('error', () => undefined)
    socket.on('close', done)
  })
}

/** All that comes back until the peer closes or falls silent. */
function answerToNonsense(socket: Socket): Promise<string> {
  const silence = setTimeout(() => socket.destroy(), 300)
  return answer(socket, () => (silence.refresh(), false)).finally(() => clearTimeout(silence))
}

const request =
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n` +
  'content-type: application/json\r\ncontent-length: 2\r\n\r\n{}'

describe('the first bytes', () => {
  it('the first bytes may come one at a time', async () => {
    const socket = await open()
    const answered = answer(socket, (text) => text.endsWith('\r\n\r\n{}'))
    for (const byte of request.slice(0, 8)) {
      socket.write(byte)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    socket.write(request.slice(8))
    expect(await answered).toMatch(/^HTTP\/1\.1 200 OK/)
  })

  it('the first bytes of HTTP/2 may come one at a time too', async () => {
    const socket = await open()
    const session = connectHttp2(started.url, {
      createConnection: () => {
        const write = socket.write.bind(socket)
        let first = true
        socket.write = (chunk: Buffer, ...rest: never[]) => {
          if (!first) return write(chunk, ...rest)
          first = false
          for (const byte of chunk.subarray(0, 4)) write(Buffer.from([byte]))
          return write(chunk.subarray(4), ...rest)
        }
        return socket
      },
    })
    const stream = session.request({ ':path': path, ':method': 'POST' })
    const status = await new Promise((resolve) => {
      stream.on('response', (headers) => resolve(headers[':status']))
    })
    expect(status).toBe(401)
    session.close()
  })

  it.each([
    ['nonsense', Buffer.from([0, 1, 2, 3, 255, 254, 13, 10, 13, 10])],
    ['a TLS hello', Buffer.from('16030100a5010000a10303', 'hex')],
    ['half a preface', Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n')],
    [
      'a preface and nonsense',
      Buffer.from(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(99)}`, 'latin1'),
    ],
    [
      'a request without host',
      Buffer.from(`POST ${path} HTTP/1.0\r\nauthorization: ${authorization}\r\n\r\n`),
    ],
    ['a strange host', Buffer.from(request.replace('host: x', 'host: 1.2.3.4.5:99999'))],
    ['headers without end', Buffer.from(`GET / HTTP/1.1\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`)],
    [
      'a huge header frame',
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        Buffer.from('ffffff010400000001', 'hex'),
      ]),
    ],
  ])('the first bytes may be %s', async (_, bytes) => {
    const socket = await open()
    const answered = answerToNonsense(socket)
    socket.write(bytes)
    expect(await answered).not.toContain('200 OK')
    expect(await works()).toBe(true)
  })

  it('the first bytes may never come, or be incomplete', async () => {
    const sockets = await Promise.all(Array.from({ length: 50 }, open))
    for (const [index, socket] of sockets.entries()) {
      if (index % 2 === 0) socket.write('P')
      if (index % 3 === 0) socket.resetAndDestroy()
      else if (index % 3 === 1) socket.end()
    }
    expect(await works()).toBe(true)
    for (const socket of sockets) socket.destroy()
  })
})

describe('HTTP/2', () => {
  it('HTTP/2 survives a client that opens and resets streams as fast as it can', async () => {
    entered = 0
    const session = connectHttp2(started.url)
    session.on('error', () => undefined)
    const closed = new Promise((resolve) => session.on('close', resolve))
    for (let count = 0; count < 5_000 && !session.destroyed; count += 1) {
      const stream = session.request({
        ':path': path,
        ':method': 'POST',
        authorization,
        'content-type': 'application/json',
      })
      stream.on('error', () => undefined)
      stream.close(constants.NGHTTP2_CANCEL)
      if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await works()).toBe(true)
    session.destroy()
    await closed
    expect(entered).toBeLessThan(2_000)
  })

  it('HTTP/2 answers a request without authority instead of ending the process', async () => {
    const socket = await open()
    // More than the settings with which the server begins.
    const answered = answer(socket, (text) => text.length > 9)
    // SETTINGS, then HEADERS with :method GET, :scheme http, :path / and nothing else (HPACK static table).
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(Buffer.from('000000040000000000000003010500000001828684', 'hex'))
    expect((await answered).length).toBeGreaterThan(9)
    expect(await works()).toBe(true)
  })
})

describe('an answer before the body was read', () => {
  it('an answer before the body was read does not leave the connection hanging', async () => {
    const socket = await open()
    const closed = new Promise((resolve) => socket.on('close', resolve))
    const head = request.replace(
      'content-length: 2\r\n\r\n{}',
      'transfer-encoding: chunked\r\n\r\n',
    )
    socket.write(head)
    socket.on('error', () => undefined)
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    for (let count = 0; count < 80; count += 1) socket.write(chunk)
    await closed
    expect(text).toContain('resource_exhausted')
  })
})
