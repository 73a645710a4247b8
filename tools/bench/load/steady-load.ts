// A load at a steady pace, below saturation: creations whose payers pay after a second, and reads of them.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { createBody, edgeHeaders, type Target } from './requests.ts'

/** What is asked for each second. */
export type Pace = { createsPerS: number; readsPerCreate: number }

/** Counts so far. */
export type SteadyCounts = { created: number; read: number; pushes: number; refusals: string[] }

/** A load that goes on until it is stopped. */
export type SteadyLoad = { counts: SteadyCounts; stop(): Promise<void> }

/** The sandbox's payer who pays a second after the announcement. */
const paysByHimself = '+12025550101'
const neverPays = '+12025550108'
const recentIds = 500
const patienceMs = 10_000

/** Starts the load, and a receiver of its pushes. */
export async function startSteadyLoad(target: Target, pace: Pace): Promise<SteadyLoad> {
  const counts: SteadyCounts = { created: 0, read: 0, pushes: 0, refusals: [] }
  const receiver = await listen(counts)
  const agent = new Agent({ connections: 32, pipelining: 1 })
  const merchant = createMerchant(target, receiver.url, agent, counts)
  const stopping = new AbortController()
  const running = keepPace(pace, merchant, stopping.signal)
  return {
    counts,
    async stop() {
      stopping.abort()
      await running
      await merchant.rest()
      await agent.close()
      receiver.server.closeAllConnections()
      receiver.server.close()
    },
  }
}

/** Begins each creation on schedule, also while earlier ones are in flight or failed. */
async function keepPace(
  { createsPerS, readsPerCreate }: Pace,
  merchant: ReturnType<typeof createMerchant>,
  stopping: AbortSignal,
): Promise<void> {
  const beganMs = performance.now()
  for (let count = 0; !stopping.aborted; count += 1) {
    const earlyMs = beganMs + (count * 1_000) / createsPerS - performance.now()
    if (earlyMs > 0) await sleep(earlyMs)
    merchant.create(count)
    for (let read = 0; read < readsPerCreate; read += 1) merchant.read()
  }
}

function createMerchant(target: Target, receiver: string, agent: Agent, counts: SteadyCounts) {
  const headers = edgeHeaders(target)
  const origin = `http://127.0.0.1:${target.port}`
  const run = Date.now().toString(36)
  const underWay = new Set<Promise<void>>()
  const ids: string[] = []

  async function answer(path: string, body: string | undefined): Promise<string> {
    const answered = await request(`${origin}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      dispatcher: agent,
      headersTimeout: patienceMs,
      ...(body === undefined ? {} : { body }),
    })
    const text = await answered.body.text()
    if (answered.statusCode !== 200) throw new Error(`${answered.statusCode} ${text.slice(0, 300)}`)
    return text
  }

  function begin(work: () => Promise<void>): void {
    const one = work()
      .catch((error: unknown) => void counts.refusals.push(String(error)))
      .finally(() => underWay.delete(one))
    underWay.add(one)
  }

  return {
    create(count: number): void {
      begin(async () => {
        const body = createBody(target, `steady-${run}-${count}`, `${receiver}/${count % 2}`)
        const text = await answer(
          '/payments/request?version=2024-10-01',
          body.replaceAll(neverPays, paysByHimself),
        )
        counts.created += 1
        const made = JSON.parse(text) as { payment_details: { id: string } }
        ids[count % recentIds] = made.payment_details.id
      })
    },
    read(): void {
      const id = ids[Math.floor(Math.random() * ids.length)]
      if (id === undefined) return
      begin(async () => {
        const query = `version=2024-10-01&api_key=${target.apiKey}&payment_details_id=${id}`
        await answer(`/payments/status?${query}`, undefined)
        counts.read += 1
      })
    },
    rest: () => Promise.all(underWay),
  }
}

async function listen(counts: SteadyCounts): Promise<{ server: http.Server; url: string }> {
  const server = http.createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => {
      counts.pushes += 1
      outgoing.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
