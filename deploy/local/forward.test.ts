// Tests that ports of loopback lead to another machine, for which another address of loopback stands.
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { freePorts } from '../../test/support/servers.ts'
import { forwardPorts } from './forward.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

it('a forwarded port carries a request to the other machine and its answer back', async () => {
  const [port = 0] = await freePorts(1)
  const receiver = http.createServer((request, answer) => request.pipe(answer))
  receiver.listen(port, '127.0.0.2')
  await once(receiver, 'listening')
  closing.push(() => receiver.close())
  closing.push(await forwardPorts([{ host: '127.0.0.2', port }]))
  const body = 'x'.repeat(100_000)
  const answer = await fetch(`http://127.0.0.1:${port}/push`, { method: 'POST', body })
  expect(await answer.text()).toBe(body)
})

it('a forwarded port closes connections that the other machine does not take, and those that are open at the end', async () => {
  const [free = 0, taken = 0] = await freePorts(2)
  const silent = net.createServer((socket) => void socket.on('error', () => undefined))
  silent.listen(taken, '127.0.0.2')
  await once(silent, 'listening')
  closing.push(() => silent.close())
  const targets = [free, taken].map((port) => ({ host: '127.0.0.2', port }))
  const stop = await forwardPorts(targets)
  await expect(fetch(`http://127.0.0.1:${free}/`)).rejects.toThrow('fetch failed')
  const open = net.connect(taken, '127.0.0.1').on('error', () => undefined)
  await once(silent, 'connection')
  const closed = once(open, 'close')
  await stop()
  await closed
})
