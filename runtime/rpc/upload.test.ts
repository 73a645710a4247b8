// A caller that streams: what it sends arrives while it is being made, and a break is seen by the other side.
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { AccountsService } from '#gen/accounts/v1/accounts_pb.js'
import { createRpcClient, createRpcPool } from './client.ts'
import { listeningLog, newSecrets } from './fixture.ts'
import { openIdentity } from './identity.ts'
import { serveRpc } from './server.ts'

const chunkBytes = 64 * 1024
const closers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

type Seen = { bytes: number; ended: boolean; failed: boolean }

async function startUploads() {
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
  return { client, seen, arrived: arrived.promise, over: over.promise }
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
    await expect(client.uploadPersonalAccount(parts())).rejects.toThrow()
    await over
    expect(seen).toEqual({ bytes: chunkBytes, ended: false, failed: true })
  })
})
