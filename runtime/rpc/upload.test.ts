// A caller that streams: what it sends arrives while it is being made, and a break is seen by the other side.
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors.ts'
import { AccountsService } from '#gen/accounts/v1/accounts_pb.js'
import { createRpcClient, createRpcPool } from './client.ts'
import { listeningLog, newSecrets } from './fixture.ts'
import { openIdentity } from './identity.ts'
import { serveRpc } from './server.ts'

const chunkBytes = 64 * 1024
const closers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

type Seen = { bytes: number; ended: boolean; failed: boolean }

async function startUploads(refuse?: () => void) {
  const seen: Seen = { bytes: 0, ended: false, failed: false }
  const arrived = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  const { log } = listeningLog()
  const dir = newSecrets()
  const server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    services: [AccountsService],
    identity: openIdentity({ name: 'delivery', dir: join(dir, 'delivery'), log }),
    log,
    routes: (router) =>
      router.service(AccountsService, {
        async uploadPersonalAccount(parts) {
          try {
            for await (const { part } of parts) {
              if (part.case === 'chunk') seen.bytes += part.value.length
              arrived.resolve()
              refuse?.()
            }
            seen.ended = true
            return { mobileNumberAsSent: String(seen.bytes) }
          } catch (error) {
            seen.failed = true
            throw error
          } finally {
            over.resolve()
          }
        },
      }),
  })
  closers.push(() => server.close())
  const url = `http://127.0.0.1:${server.port}`
  const pool = createRpcPool(url)
  closers.push(() => pool.close())
  const identity = openIdentity({ name: 'gateway', dir: join(dir, 'gateway'), log })
  const client = createRpcClient(AccountsService, { url, audience: 'delivery', identity, pool })
  return { client, seen, server, arrived: arrived.promise, over: over.promise }
}

function chunk(): { part: { case: 'chunk'; value: Uint8Array } } {
  return { part: { case: 'chunk', value: new Uint8Array(chunkBytes) } }
}

describe('a streaming caller', () => {
  it('is heard while it is still speaking', async () => {
    const { client, arrived } = await startUploads()
    async function* parts() {
      yield chunk()
      // Never answered unless the first part has arrived by itself.
      await arrived
      yield chunk()
    }
    const answer = await client.uploadPersonalAccount(parts())
    expect(answer.mobileNumberAsSent).toBe(String(2 * chunkBytes))
  })

  it('may send more than one message may hold', async () => {
    const { client } = await startUploads()
    async function* parts() {
      for (let count = 0; count < 200; count++) yield chunk()
    }
    const answer = await client.uploadPersonalAccount(parts())
    expect(answer.mobileNumberAsSent).toBe(String(200 * chunkBytes))
  })

  it('that breaks off never looks like one that ended', async () => {
    const { client, seen, arrived, over } = await startUploads()
    async function* parts() {
      yield chunk()
      await arrived
      throw new Error('the client went away')
    }
    await expect(client.uploadPersonalAccount(parts())).rejects.toBeInstanceOf(Error)
    await over
    expect(seen).toEqual({ bytes: chunkBytes, ended: false, failed: true })
  })

  it('that is refused before its end is let go at once', async () => {
    const refuse = () => {
      throw new Failure('ACCOUNT_EXISTS', 'no')
    }
    const { client, server } = await startUploads(refuse)
    async function* parts() {
      for (let count = 0; count < 200; count++) yield chunk()
    }
    await expect(client.uploadPersonalAccount(parts())).rejects.toMatchObject({
      reason: 'ACCOUNT_EXISTS',
    })
    const startedMs = Date.now()
    await server.close()
    expect(Date.now() - startedMs).toBeLessThan(2_000)
  })

  it('that is refused hears why, however much it had still to say', async () => {
    const refuse = () => {
      throw new Failure('ACCOUNT_EXISTS', 'no')
    }
    const { client } = await startUploads(refuse)
    for (const chunks of [1, 2, 3, 4, 5, 8, 20, 100]) {
      async function* parts() {
        for (let count = 0; count < chunks; count++) yield chunk()
      }
      const call = client.uploadPersonalAccount(parts())
      await expect(call, `${chunks} chunks`).rejects.toMatchObject({ reason: 'ACCOUNT_EXISTS' })
    }
  })
})
