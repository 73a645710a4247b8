// Tests that a link does to the network what it says.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import net from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../../test/support/eventually.ts'
import { type Link, openLink } from './link.ts'

const heard: string[] = []
const server = net.createServer((socket) => {
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    heard.push(String(chunk))
    socket.write(`answer to ${String(chunk)}`)
  })
})
let link: Link

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  link = await openLink()
  link.leadTo((server.address() as AddressInfo).port)
})
afterAll(() => {
  link.close()
  server.close()
})

/** A connection over the link, and what came back. */
function connect() {
  const socket = net.connect(Number(new URL(link.url).port), '127.0.0.1')
  const client = { socket, text: '', isOver: false }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    client.text += String(chunk)
  })
  socket.on('close', () => {
    client.isOver = true
  })
  return client
}

it('a link that is cut ends its connections and takes no more', async () => {
  const before = connect()
  before.socket.write('one')
  await eventually(() => expect(before.text).toBe('answer to one'))
  link.set('cut')
  await eventually(() => expect(before.isOver).toBe(true))
  const after = connect()
  await eventually(() => expect(after.isOver).toBe(true))
  link.set('open')
})

it('a silent link passes on later what was sent meanwhile', async () => {
  const client = connect()
  client.socket.write('two')
  await eventually(() => expect(client.text).toBe('answer to two'))
  link.set('silent')
  client.socket.write('three')
  const late = connect()
  late.socket.write('four')
  await once(late.socket, 'connect')
  expect(heard).not.toContain('three')
  link.set('open')
  await eventually(() => expect(client.text).toBe('answer to twoanswer to three'))
  await eventually(() => expect(late.text).toBe('answer to four'))
})

it('a deaf link passes requests, and ends connections whose answers it lost', async () => {
  const client = connect()
  link.set('deaf')
  client.socket.write('five')
  await eventually(() => expect(heard).toContain('five'))
  link.set('open')
  await eventually(() => expect(client.isOver).toBe(true))
  expect(client.text).toBe('')
})

it('a slow link keeps the order of its packets', async () => {
  const client = connect()
  link.set('slow')
  client.socket.write('six')
  await eventually(() => expect(heard).toContain('six'))
  client.socket.write('seven')
  await eventually(() => expect(client.text).toBe('answer to sixanswer to seven'))
  link.set('open')
})
