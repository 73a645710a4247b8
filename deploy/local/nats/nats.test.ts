// Tests that our nats-server starts, keeps its data, takes messages again after a full disk and refuses connections without credentials.
import fs from 'node:fs'
import path from 'node:path'
import { connect } from 'nats'
import { afterEach, describe, expect, it } from 'vitest'
import {
  freePorts,
  ownNats,
  type TestServer,
  temporaryFolder,
} from '../../../test/support/servers.ts'
import { mountSmallDisk, type SmallDisk } from '../../../test/support/small-disk.ts'
import { startNats } from './nats.ts'

const mounted = mountSmallDisk(temporaryFolder('nats-disk'), 16)
const hindrance = typeof mounted === 'string' ? `; no disk can be mounted here: ${mounted}` : ''

let server: TestServer | undefined

afterEach(async () => {
  await server?.remove()
  server = undefined
})

function open(url: string) {
  const { host, username, password } = new URL(url)
  return connect({ servers: host, user: username, pass: password, reconnect: false })
}

describe('the local NATS server', () => {
  it('the local NATS server keeps a stream over a stop and a start', async () => {
    server = await ownNats()
    const before = await open(server.url)
    const manager = await before.jetstreamManager()
    await manager.streams.add({ name: 'KEPT', subjects: ['kept.>'] })
    await before.jetstream().publish('kept.one', 'a message')
    await before.close()
    await server.stop()
    await server.start()
    const after = await open(server.url)
    const stream = await (await after.jetstreamManager()).streams.info('KEPT')
    await after.close()
    expect(stream.state.messages).toBe(1)
  })

  it.skipIf(hindrance !== '')(
    `a local NATS server that started on a full disk takes messages when the disk has room again${hindrance}`,
    async () => {
      const disk = mounted as SmallDisk
      const [port = 0] = await freePorts(1)
      // Room for its configuration and an empty stream.
      const room = path.join(disk.folder, 'room')
      fs.writeFileSync(room, Buffer.alloc(64 * 1024))
      disk.fill()
      fs.rmSync(room)
      const started = await startNats({ dataDir: disk.folder, port, log: () => {} })
      try {
        disk.clear()
        const client = await open(started.url)
        await (await client.jetstreamManager()).streams.add({ name: 'KEPT', subjects: ['kept.>'] })
        // The server looks at its limit before it stores a message.
        for (const seq of [1, 2]) {
          const answer = await client.jetstream().publish('kept.one', Buffer.alloc(500_000))
          expect(answer.seq).toBe(seq)
        }
        await client.close()
      } finally {
        await started.stop()
        disk.remove()
      }
    },
  )

  it('the local NATS server refuses a client without the password', async () => {
    server = await ownNats()
    const { host } = new URL(server.url)
    await expect(connect({ servers: host, reconnect: false })).rejects.toThrow(/authorization/i)
  })
})
