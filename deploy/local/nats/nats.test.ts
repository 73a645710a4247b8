// Tests that our nats-server starts, keeps its data and refuses connections without credentials.
import { connect } from 'nats'
import { afterEach, describe, expect, it } from 'vitest'
import { ownNats, type TestServer } from '../../../test/support/servers.ts'

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

  it('the local NATS server refuses a client without the password', async () => {
    server = await ownNats()
    const { host } = new URL(server.url)
    await expect(connect({ servers: host, reconnect: false })).rejects.toThrow(/authorization/i)
  })
})
