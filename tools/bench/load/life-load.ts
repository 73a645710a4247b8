// A load of whole payments: created by a merchant, paid by a payer of the sandbox after a second, and pushed five times.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { createBody, edgeHeaders, type Target } from './requests.ts'

/** Created; paid and payout scheduled; the callback; paid out. */
const pushesPerPayment = 5
const concurrency = 16
const patienceMs = 120_000
/** The payer of `createBody` never acts; this one pays a second after the announcement. */
const payers = { never: '+12025550108', afterASecond: '+12025550101' }

/** A merchant with a receiver of pushes. */
export type LifeLoad = {
  /** Creates payments as fast as responses arrive; returns when each has had its pushes. */
  burst(count: number): Promise<void>
  /** Creates `perSecond` payments a second for `seconds`; returns when each has had its pushes. */
  pace(perSecond: number, seconds: number): Promise<number>
  close(): Promise<void>
}

/** Starts the receiver. */
export async function startLifeLoad(target: Target): Promise<LifeLoad> {
  const receiver = await startReceiver()
  const agent = new Agent({ connections: concurrency, pipelining: 1 })
  const run = Date.now().toString(36)
  const url = `http://127.0.0.1:${target.port}/payments/request?version=2024-10-01`
  let created = 0

  async function create(): Promise<void> {
    created += 1
    const body = createBody(target, `life-${run}-${created}`, receiver.url)
    const answered = await request(url, {
      method: 'POST',
      headers: { ...edgeHeaders(target), 'content-type': 'application/json' },
      body: body.replaceAll(payers.never, payers.afterASecond),
      dispatcher: agent,
    })
    const text = await answered.body.text()
    if (answered.statusCode !== 200) throw new Error(`${answered.statusCode} ${text.slice(0, 300)}`)
  }

  return {
    async burst(count) {
      const last = created + count
      const client = async (): Promise<void> => {
        while (created < last) await create()
      }
      await Promise.all(Array.from({ length: concurrency }, client))
      await receiver.reached(created * pushesPerPayment)
    },
    async pace(perSecond, seconds) {
      const beganMs = performance.now()
      const running: Promise<void>[] = []
      for (let count = 0; count < perSecond * seconds; count += 1) {
        const earlyMs = beganMs + (count * 1_000) / perSecond - performance.now()
        if (earlyMs > 0) await sleep(earlyMs)
        running.push(create())
      }
      await Promise.all(running)
      await receiver.reached(created * pushesPerPayment)
      return running.length
    },
    async close() {
      await agent.close()
      receiver.close()
    },
  }
}

/** Counts deliveries, each once however often it arrives. */
async function startReceiver() {
  const deliveries = new Set<string>()
  let wanted = { count: Number.POSITIVE_INFINITY, resolve: () => {} }
  const server = http.createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => {
      deliveries.add(String(incoming.headers['pw-delivery-id']))
      outgoing.end()
      if (deliveries.size >= wanted.count) wanted.resolve()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`,
    async reached(count: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      wanted = { count, resolve }
      if (deliveries.size >= count) return
      const late = AbortSignal.timeout(patienceMs)
      late.addEventListener('abort', () => resolve())
      await promise
      if (deliveries.size < count) throw new Error(`${deliveries.size} of ${count} pushes arrived`)
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
