// Measures deliveries: throughput beside a bare loop of POSTs, latency, isolation between receivers, memory.
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { deliveriesOf } from '../../../services/delivery/operations/event-intake.ts'
import {
  type CpuSeconds,
  cpuPerRequest,
  readCpu,
  readMachine,
  readRssMb,
  waitForQuiet,
} from '../load/processes.ts'
import type { PostJob, PostResult } from '../yardsticks/post-loop.ts'
import { countDelivered, countRetries, loadRetries } from './delivery-store.ts'
import { paymentEvent } from './payment-event.ts'
import type { ReceiversJob, ReceiversMessage } from './receivers.ts'
import { type DeliverySystem, startDeliverySystem } from './system.ts'

/** A turn of as many deliveries as go, beside the bare loop. */
export type SustainedTurn = {
  perSecond: number
  loopPerSecond: number
  /** Microseconds of CPU per delivery, by process. */
  cpuMicros: CpuSeconds
}

/** From the commit of an event to its first POST, of the receivers that work. */
export type Promptness = { p50Ms: number; p95Ms: number; p99Ms: number; count: number }

/** A turn at a fixed rate: without, and with a backlog of retries for a dead receiver. */
export type PromptTurn = { plain: Promptness; burdened: Promptness }

/** All that is measured of deliveries. */
export type DeliveryFindings = {
  sustained: SustainedTurn[]
  prompt: PromptTurn[]
  /** Retries that waited during the turns. */
  retries: number
  /** Memory of the delivery process under load, in the order of time. */
  rssMb: number[]
  /** Deliveries during which it was read. */
  deliveries: number
  /** Share of the machine that was busy while nothing was measured, at the beginning. */
  idleShare: number
}

/** Sizes; BENCH_DELIVERY_SMALL=1 takes small ones, to try the measurement itself. */
const sizes =
  process.env['BENCH_DELIVERY_SMALL'] === '1'
    ? {
        rounds: 1,
        warmUp: 1_000,
        sustained: 2_000,
        retries: 20_000,
        promptRounds: 1,
        promptMs: 4_000,
      }
    : {
        rounds: 3,
        warmUp: 40_000,
        sustained: 12_000,
        retries: 1_000_000,
        promptRounds: 5,
        promptMs: 15_000,
      }
const receivers = { alive: 45, silent: 3, closed: 2 }
const sustainedReceivers = 50
const eventsPerS = 200
const loopAtOnce = 256
/** Events that the broker has not acknowledged yet. */
const publishedAtOnce = 200
const loopMs = { warmUpMs: 2_000, measuredMs: 5_000 }
const rssEveryMs = 250
const arriveWithinMs = 90_000
const settleMs = 1_500
const promptWarmUpMs = 5_000
const quietWithinMs = 20_000
/** Away from those of the other measurements. */
const ports = { plain: 17_400, burdened: 17_430 }
const projectId = randomUUID()

/** Runs everything in turns. */
export async function measureDelivery(say: (line: string) => void): Promise<DeliveryFindings> {
  const field = await startReceivers()
  const plain = await startDeliverySystem(ports.plain)
  let burdened: DeliverySystem | undefined
  try {
    await waitForQuiet(quietWithinMs)
    const idleShare = await busyShare()
    const { sustained, rssMb } = await sustain(plain, field, say)
    burdened = await startDeliverySystem(ports.burdened)
    const dead = { projectId, origin: field.silent[0] ?? '' }
    await loadRetries(burdened.databaseUrl, { ...dead, count: sizes.retries })
    say(`${sizes.retries} retries wait for one dead receiver`)
    await deliverAll(burdened, field, Math.min(sizes.warmUp, 3_000))
    // The way through the outbox has not been taken yet, and breakers are still to open.
    for (const system of [plain, burdened]) await deliverPromptly(system, field, promptWarmUpMs)
    const prompt: PromptTurn[] = []
    for (let round = 1; round <= sizes.promptRounds; round += 1) {
      const turn = {
        plain: await deliverPromptly(plain, field, sizes.promptMs),
        burdened: await deliverPromptly(burdened, field, sizes.promptMs),
      }
      prompt.push(turn)
      say(
        `prompt ${round}: p95 ${turn.plain.p95Ms.toFixed(1)} ms, p99 ${turn.plain.p99Ms.toFixed(1)} ms, beside the retries ${turn.burdened.p99Ms.toFixed(1)} ms`,
      )
    }
    const retries = await countRetries(burdened.databaseUrl, dead)
    const deliveries = sizes.rounds * sizes.sustained
    return { sustained, prompt, retries, rssMb, deliveries, idleShare }
  } finally {
    await Promise.all([plain.stop(), burdened?.stop()])
    field.stop()
  }
}

/** As many deliveries as go, in turns with the loop; every one must have its rows. */
async function sustain(system: DeliverySystem, field: Field, say: (line: string) => void) {
  const sustained: SustainedTurn[] = []
  const rssMb: number[] = []
  await deliverAll(system, field, sizes.warmUp)
  for (let round = 1; round <= sizes.rounds; round += 1) {
    const reader = setInterval(() => rssMb.push(readRssMb(system.pids.delivery)), rssEveryMs)
    const before = readCpu(system.pids)
    const perSecond = await deliverAll(system, field, sizes.sustained)
    clearInterval(reader)
    await untilRecorded(system, sizes.warmUp + round * sizes.sustained)
    const cpuMicros = cpuPerRequest(before, readCpu(system.pids), sizes.sustained)
    const loopPerSecond = await postInALoop(field)
    sustained.push({ perSecond, loopPerSecond, cpuMicros })
    say(
      `sustained ${round}: ${perSecond.toFixed(0)}/s, loop ${loopPerSecond.toFixed(0)}/s, RSS ${rssMb.at(-1)?.toFixed(0)} MB`,
    )
  }
  return { sustained, rssMb }
}

/** Publishes `count` events and waits until all have arrived. Returns deliveries per second. */
async function deliverAll(system: DeliverySystem, field: Field, count: number): Promise<number> {
  const origins = field.alive.slice(0, sustainedReceivers)
  const run = randomUUID().slice(0, 8)
  const events = Array.from({ length: count }, (_, n) =>
    paymentEvent(projectId, `${origins[n % origins.length]}/${run}/${n}`),
  )
  const reached = field.expect(count)
  const beganMs = performance.timeOrigin + performance.now()
  const remaining = events.values()
  const publish = async () => {
    for (const event of remaining) await system.publish(event)
  }
  await Promise.all(Array.from({ length: publishedAtOnce }, publish))
  const endedMs = await reached
  return count / ((endedMs - beganMs) / 1_000)
}

async function untilRecorded({ databaseUrl }: DeliverySystem, count: number): Promise<void> {
  const deadlineMs = performance.now() + 5_000
  for (;;) {
    const { inbox, deliveries, attempts } = await countDelivered(databaseUrl)
    if (inbox === count && deliveries === count && attempts === count) return
    if (performance.now() > deadlineMs) {
      throw new Error(`${count} were sent, stored are ${inbox}, ${deliveries}, ${attempts}`)
    }
    await sleep(50)
  }
}

const isDead = (n: number): boolean => n % 10 === 9

/** Commits events at the fixed rate, every tenth for a dead receiver. */
async function deliverPromptly(
  system: DeliverySystem,
  field: Field,
  forMs: number,
): Promise<Promptness> {
  await sleep(settleMs)
  const run = randomUUID().slice(0, 8)
  const count = Math.floor((forMs / 1_000) * eventsPerS)
  const dead = [...field.silent, ...field.closed]
  const alive = field.alive.slice(0, receivers.alive)
  const reached = field.expect(count - Math.floor(count / 10))
  const beganMs = performance.now()
  const committed = new Map<string, number>()
  const writes: Promise<void>[] = []
  for (let n = 0; n < count; n += 1) {
    const waitMs = beganMs + (n * 1_000) / eventsPerS - performance.now()
    if (waitMs > 1) await sleep(waitMs)
    const origins = isDead(n) ? dead : alive
    const urlPath = `/${run}/${n}`
    // Taken before the transaction begins: what is measured is a little more than what is promised.
    if (!isDead(n)) committed.set(urlPath, performance.timeOrigin + performance.now())
    const origin = origins[(isDead(n) ? (n - 9) / 10 : n) % origins.length]
    writes.push(system.write(paymentEvent(projectId, `${origin}${urlPath}`)))
  }
  await Promise.all(writes)
  await reached
  const waits = (await field.arrivals()).flatMap(([urlPath, atMs]) => {
    const fromMs = committed.get(urlPath)
    return fromMs === undefined ? [] : [atMs - fromMs]
  })
  const sorted = Float64Array.from(waits).toSorted()
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), count: sorted.length }
}

async function postInALoop(field: Field): Promise<number> {
  const origins = field.alive.slice(0, sustainedReceivers)
  const [push] = deliveriesOf(paymentEvent(projectId, `${origins[0]}/`))
  const child = fork(path.join(import.meta.dirname, '../yardsticks/post-loop.ts'))
  const { promise, resolve, reject } = Promise.withResolvers<PostResult>()
  child.once('message', (result: PostResult) => resolve(result))
  child.once('exit', (code) => reject(new Error(`the loop ended with ${code}`)))
  const body = push?.body.toString() ?? ''
  child.send({ origins, body, atOnce: loopAtOnce, ...loopMs } satisfies PostJob)
  const { answered, seconds } = await promise
  return answered / seconds
}

async function busyShare(): Promise<number> {
  const before = readMachine()
  await sleep(1_000)
  const after = readMachine()
  return (after.busyS - before.busyS) / (after.wholeS - before.wholeS)
}

type Field = Awaited<ReturnType<typeof startReceivers>>

/** The receivers' process. */
async function startReceivers() {
  const child = fork(path.join(import.meta.dirname, 'receivers.ts'))
  const ask = (job: ReceiversJob) => child.send(job)
  const listening = messageOf(child, 'listening')
  ask({ kind: 'listen', ...receivers, alive: sustainedReceivers })
  const { alive, silent, closed } = await listening
  return {
    alive,
    silent,
    closed,
    /** Resolves with the time at which the last of them has arrived. */
    async expect(count: number): Promise<number> {
      const reached = messageOf(child, 'reached')
      ask({ kind: 'expect', count })
      return (await reached).atMs
    },
    async arrivals() {
      const reported = messageOf(child, 'arrivals')
      ask({ kind: 'report' })
      return (await reported).arrivals
    },
    stop: () => child.disconnect(),
  }
}

function messageOf<K extends ReceiversMessage['kind']>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<ReceiversMessage, { kind: K }>> {
  const { promise, resolve, reject } =
    Promise.withResolvers<Extract<ReceiversMessage, { kind: K }>>()
  const late = setTimeout(
    () => reject(new Error(`no message from the receivers: ${kind}`)),
    arriveWithinMs,
  )
  const receive = (message: ReceiversMessage): void => {
    if (message.kind !== kind) return
    child.off('message', receive)
    clearTimeout(late)
    resolve(message as Extract<ReceiversMessage, { kind: K }>)
  }
  child.on('message', receive)
  return promise
}
