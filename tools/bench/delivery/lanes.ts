// Measures what a path that always answers 500 costs the other pushes to the same host, and whether its retries keep their schedule.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '#core/identity/id.ts'
import { waitForQuiet } from '../load/processes.ts'
import { type Retries, readRetries } from './lanes-store.ts'
import { paymentEvent } from './payment-event.ts'
import { type DeliverySystem, startDeliverySystem } from './system.ts'

/** From before the commit of an event to the arrival of its first push, of the paths that work. */
export type LaneWaits = { p50Ms: number; p95Ms: number; p99Ms: number; count: number }

/** A turn without and one with the failing path. */
export type LaneTurn = { plain: LaneWaits; failing: LaneWaits; retries: Retries }

/** Sizes; BENCH_DELIVERY_SMALL=1 takes small ones, to try the measurement itself. */
const sizes =
  process.env['BENCH_DELIVERY_SMALL'] === '1'
    ? { rounds: 1, warmUpMs: 3_000, measuredMs: 8_000 }
    : { rounds: 3, warmUpMs: 5_000, measuredMs: 20_000 }
const paymentsPerS = 100
const arriveWithinMs = 60_000
const quietWithinMs = 20_000
/** Away from those of the other measurements. */
const ports = { plain: 17_460, failing: 17_490 }

/** Runs the turns, each with a project of its own, since what a lane has learnt is part of what is measured. */
export async function measureLanes(say: (line: string) => void): Promise<LaneTurn[]> {
  const receiver = await startReceiver()
  const plain = await startDeliverySystem(ports.plain)
  let failing: DeliverySystem | undefined
  try {
    failing = await startDeliverySystem(ports.failing)
    for (const system of [plain, failing]) await push(system, receiver, newId(), 'works')
    const turns: LaneTurn[] = []
    for (let round = 1; round <= sizes.rounds; round += 1) {
      await waitForQuiet(quietWithinMs)
      const projectId = newId()
      const turn = {
        plain: await push(plain, receiver, newId(), 'works'),
        failing: await push(failing, receiver, projectId, 'fails'),
        retries: await readRetries(failing.databaseUrl, projectId),
      }
      turns.push(turn)
      say(
        `lanes ${round}: p95 ${turn.plain.p95Ms.toFixed(1)} ms, beside the failing path ${turn.failing.p95Ms.toFixed(1)} ms, ${turn.retries.count} retries, p95 ${turn.retries.p95LateMs.toFixed(0)} ms late`,
      )
    }
    return turns
  } finally {
    await Promise.all([plain.stop(), failing?.stop()])
    receiver.stop()
  }
}

/**
 * Commits payments at the fixed rate, nine of ten to one path and the tenth to another, which works or fails. Resolves with the waits of
 * the nine after the warm-up, when all of them have arrived; throws when one does not arrive within a minute.
 */
async function push(
  system: DeliverySystem,
  receiver: Receiver,
  projectId: string,
  tenth: 'works' | 'fails',
): Promise<LaneWaits> {
  const beganMs = performance.now()
  const committed = new Map<string, number>()
  const writes: Promise<void>[] = []
  const count = ((sizes.warmUpMs + sizes.measuredMs) * paymentsPerS) / 1_000
  for (let n = 0; n < count; n += 1) {
    const waitMs = beganMs + (n * 1_000) / paymentsPerS - performance.now()
    if (waitMs > 1) await sleep(waitMs)
    const event = paymentEvent(projectId, `${receiver.origin}/${n % 10 === 9 ? tenth : 'orders'}`)
    if (n % 10 !== 9) committed.set(event.eventId, performance.now())
    writes.push(system.write(event))
  }
  await Promise.all(writes)
  const deadlineMs = performance.now() + arriveWithinMs
  while ([...committed.keys()].some((eventId) => !receiver.arrivals.has(eventId))) {
    if (performance.now() > deadlineMs) throw new Error('pushes did not arrive within a minute')
    await sleep(20)
  }
  const waits = [...committed]
    .filter(([, atMs]) => atMs >= beganMs + sizes.warmUpMs)
    .map(([eventId, atMs]) => (receiver.arrivals.get(eventId) ?? Number.NaN) - atMs)
  const sorted = Float64Array.from(waits).toSorted()
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), count: sorted.length }
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** Answers 500 on /fails and 200 on every other path, and keeps when each event first arrived. */
async function startReceiver() {
  const arrivals = new Map<string, number>()
  const server = http.createServer((request, response) => {
    request.resume()
    request.once('end', () => {
      const eventId = String(request.headers['pw-event-id'])
      if (!arrivals.has(eventId)) arrivals.set(eventId, performance.now())
      response.writeHead(request.url === '/fails' ? 500 : 200).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals: arrivals as ReadonlyMap<string, number>,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
