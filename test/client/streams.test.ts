// The published client's streams: answers as they come, uploads as they are taken, ends of both.
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { callContext, connect, errorOf, serve } from './harness.ts'

const heartbeat = { event: { case: 'heartbeat', value: {} } } as const

type Tail = (
  context: ReturnType<typeof callContext>,
  attempt: number,
) => AsyncIterable<typeof heartbeat>

/** Serves TailDeliveries. */
async function serveTail(tail: Tail) {
  const attempts = { count: 0 }
  const { url } = await serve((router) =>
    router.service(DeliveryService, {
      tailDeliveries() {
        attempts.count += 1
        return tail(callContext(), attempts.count)
      },
    }),
  )
  return { ...connect(url), attempts }
}

async function collect<T>(answers: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const answer of answers) all.push(answer)
  return all
}

describe('a stream of answers', () => {
  it('a stream of answers is read as it comes, to its end', async () => {
    const read = Promise.withResolvers<void>()
    const { deliveries } = await serveTail(async function* () {
      yield heartbeat
      // Never goes on unless the first was read by itself.
      await read.promise
      yield heartbeat
    })
    const cases: unknown[] = []
    for await (const { event } of deliveries.tailDeliveries({})) {
      cases.push(event.case)
      read.resolve()
    }
    expect(cases).toEqual(['heartbeat', 'heartbeat'])
  })

  it('a stream of answers may be empty', async () => {
    const { deliveries } = await serveTail(async function* () {})
    expect(await collect(deliveries.tailDeliveries({}))).toEqual([])
  })

  it('a stream of answers is cancelled at the service when its reader stops', async () => {
    const gone = Promise.withResolvers<void>()
    const { deliveries } = await serveTail(async function* ({ signal }) {
      signal?.addEventListener('abort', () => gone.resolve())
      yield heartbeat
      await gone.promise
    })
    for await (const _ of deliveries.tailDeliveries({})) break
    await expect(gone.promise).resolves.toBeUndefined()
  })

  it('a stream of answers ends with the error of its caller, its time or its service', async () => {
    const { deliveries } = await serveTail(async function* ({ signal }) {
      yield heartbeat
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    })
    const late = errorOf(collect(deliveries.tailDeliveries({}, { timeoutMs: 100 })))
    expect(await late).toMatchObject({ status: 'DEADLINE_EXCEEDED' })
    const abort = new AbortController()
    async function readAndAbort() {
      for await (const _ of deliveries.tailDeliveries({}, { signal: abort.signal })) abort.abort()
    }
    expect(await errorOf(readAndAbort())).toMatchObject({ status: 'CANCELLED' })
  })

  it('a stream of answers is asked for again before its first answer, never after', async () => {
    const early = await serveTail(async function* (_, attempt) {
      if (attempt < 3) throw new Failure('SERVICE_UNAVAILABLE', 'not yet')
      yield heartbeat
    })
    expect(await collect(early.deliveries.tailDeliveries({}))).toHaveLength(1)
    expect(early.attempts.count).toBe(3)
    const midway = await serveTail(async function* () {
      yield heartbeat
      throw new Failure('SERVICE_UNAVAILABLE', 'no more')
    })
    expect(await errorOf(collect(midway.deliveries.tailDeliveries({})))).toMatchObject({
      reason: 'SERVICE_UNAVAILABLE',
    })
    expect(midway.attempts.count).toBe(1)
  })
})

describe('a stream of requests', () => {
  async function serveUpload(refuseAfter = Number.POSITIVE_INFINITY) {
    const seen = { bytes: 0, calls: 0 }
    const arrived = Promise.withResolvers<void>()
    const { url } = await serve((router) =>
      router.service(AccountsService, {
        async uploadPersonalAccount(parts) {
          seen.calls += 1
          for await (const { part } of parts) {
            if (part.case === 'chunk') seen.bytes += part.value.length
            arrived.resolve()
            if (seen.bytes >= refuseAfter) throw new Failure('SERVICE_UNAVAILABLE', 'full')
          }
          return { mobileNumberAsSent: String(seen.bytes) }
        },
      }),
    )
    return { ...connect(url), seen, arrived: arrived.promise }
  }

  const chunkBytes = 64 * 1024
  function* chunks(count: number) {
    for (let index = 0; index < count; index += 1) {
      yield { part: { case: 'chunk' as const, value: new Uint8Array(chunkBytes) } }
    }
  }

  it('a stream of requests may be longer than any message', async () => {
    const { accounts } = await serveUpload()
    const answer = await accounts.uploadPersonalAccount(chunks(100))
    expect(answer.mobileNumberAsSent).toBe(String(100 * chunkBytes))
  })

  it('a stream of requests stops when the service has refused it, and is not sent again', async () => {
    const { accounts, seen } = await serveUpload(chunkBytes)
    let made = 0
    async function* endless() {
      for (;;) {
        made += 1
        yield* chunks(1)
        await turn()
      }
    }
    const error = await errorOf(accounts.uploadPersonalAccount(endless()))
    expect(error).toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    const madeAtError = made
    expect(seen.calls).toBe(1)
    // A whole call later, nothing more has been made for the first.
    await errorOf(accounts.uploadPersonalAccount(chunks(1)))
    expect(made - madeAtError).toBeLessThanOrEqual(1)
    expect(seen.calls).toBe(2)
  })

  it('a stream of requests fails by the error of its own maker', async () => {
    const { accounts, arrived } = await serveUpload()
    async function* broken() {
      yield* chunks(1)
      await arrived
      throw new Error('the disk is gone')
    }
    await expect(accounts.uploadPersonalAccount(broken())).rejects.toThrow('the disk is gone')
  })

  it('a stream of requests is cancelled by its caller', async () => {
    const { accounts, arrived } = await serveUpload()
    const abort = new AbortController()
    async function* slow() {
      yield* chunks(1)
      await arrived
      abort.abort()
      yield* chunks(1)
    }
    const error = await errorOf(accounts.uploadPersonalAccount(slow(), { signal: abort.signal }))
    expect(error).toMatchObject({ status: 'CANCELLED' })
  })
})
