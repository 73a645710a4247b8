// Opens a call stream whose connection is made at the moment in which the client gives up, as on a machine that stalls.
import net, { type AddressInfo } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { openCallStream } from './client.ts'

afterEach(() => vi.useRealTimers())

it('a connection that is made when the client has just given up does not end its process', async () => {
  const server = net.createServer((socket) => socket.resume())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const socket = net.connect(port, '127.0.0.1')
  const options: object = { createConnection: () => socket }
  const opened = openCallStream(new URL(`http://127.0.0.1:${port}`), options, 'Bearer a')
  // After the session has noticed the connection, and before it says so. What the process does not catch fails the test.
  socket.once('connect', () => vi.advanceTimersByTime(60_000))
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  expect(await opened).toBe('unreachable')
  await closed
  server.close()
})
