// Tests streams of a caller: messages arrive as they are sent, and the peer sees a break.
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { startStopwatch } from '../../../test/support/stopwatch.ts'
import { startUploads } from '../../testing/rpc/harness.ts'
import { createRpcClient, createRpcPool } from '../client/client.ts'
import { maxMessageBytes } from './limits.ts'

const chunkBytes = 64 * 1024
const closers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function startReceiving(refuse?: () => void) {
  const arrived = Promise.withResolvers<void>()
  const { server, identityOf, seen, over } = await startUploads(() => {
    arrived.resolve()
    refuse?.()
  })
  closers.push(() => server.close())
  const url = `http://127.0.0.1:${server.port}`
  const pool = createRpcPool(url)
  closers.push(() => pool.close())
  const options = { url, audience: 'delivery', identity: identityOf('gateway'), pool }
  const client = createRpcClient(AccountsService, options)
  return { client, seen, server, arrived: arrived.promise, over }
}

function chunk(): { part: { case: 'chunk'; value: Uint8Array } } {
  return { part: { case: 'chunk', value: new Uint8Array(chunkBytes) } }
}

describe('a streaming caller', () => {
  it('a streaming caller is read while it is still sending', async () => {
    const { client, arrived } = await startReceiving()
    async function* parts() {
      yield chunk()
      // Never answered unless the first part has arrived by itself.
      await arrived
      yield chunk()
    }
    const answer = await client.uploadPersonalAccount(parts())
    expect(answer.mobileNumberAsSent).toBe(String(2 * chunkBytes))
  })

  it('a streaming caller may send more than one message may hold', async () => {
    const { client } = await startReceiving()
    const chunks = maxMessageBytes / chunkBytes + 1
    async function* parts() {
      for (let count = 0; count < chunks; count++) yield chunk()
    }
    const answer = await client.uploadPersonalAccount(parts())
    expect(answer.mobileNumberAsSent).toBe(String(chunks * chunkBytes))
  })

  it('a streaming caller that breaks off never looks like one that ended', async () => {
    const { client, seen, arrived, over } = await startReceiving()
    async function* parts() {
      yield chunk()
      await arrived
      throw new Error('the client went away')
    }
    await expect(client.uploadPersonalAccount(parts())).rejects.toBeInstanceOf(Error)
    await over
    expect(seen).toMatchObject({ parts: 1, bytes: chunkBytes, ended: false })
    expect(seen.error).toBeInstanceOf(Error)
  })

  it('a streaming caller that is refused before its end is released at once', async () => {
    const refuse = () => {
      throw new Failure('ACCOUNT_EXISTS', 'no')
    }
    const { client, server } = await startReceiving(refuse)
    async function* parts() {
      for (let count = 0; count < 200; count++) yield chunk()
    }
    await expect(client.uploadPersonalAccount(parts())).rejects.toMatchObject({
      reason: 'ACCOUNT_EXISTS',
    })
    const watch = startStopwatch()
    await server.close()
    // It would let a call that is under way go on for 10 s.
    expect(watch.elapsedMs()).toBeLessThan(2_000)
  })

  it('a streaming caller that is refused receives the reason, however much it had still to send', async () => {
    const refuse = () => {
      throw new Failure('ACCOUNT_EXISTS', 'no')
    }
    const { client } = await startReceiving(refuse)
    for (const chunks of [1, 2, 3, 4, 5, 8, 20, 100]) {
      async function* parts() {
        for (let count = 0; count < chunks; count++) yield chunk()
      }
      const call = client.uploadPersonalAccount(parts())
      await expect(call, `${chunks} chunks`).rejects.toMatchObject({ reason: 'ACCOUNT_EXISTS' })
    }
  })
})
