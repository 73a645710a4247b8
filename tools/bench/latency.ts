// Measures how soon after its answer a payment's first push arrives, while whole payments come at a fixed rate.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { onSystem } from './compare.ts'
import { atRate, paymentCreator, startReceiver, untilAll } from './load/paid-pushes.ts'
import { cpuPerRequest, readCpu } from './load/processes.ts'
import { median, table, whole } from './report.ts'
import { type System, startMesh, startOneProcess } from './systems.ts'

/** Milliseconds from the answer to the arrival of the first push, below zero when the push came first; CPU of each process. */
export type PushWaits = {
  p50Ms: number
  p99Ms: number
  count: number
  cpuMicros: Record<string, number>
}

/** A turn of the product and of the single process. */
export type LatencyTurn = { product: PushWaits; oneProcess: PushWaits }

const pushing = {
  program: 'one-process.ts',
  service: 'payments',
  env: { BENCH_PUSHES: '1' },
} as const

const isSmall = process.env['BENCH_LATENCY_SMALL'] === '1'
const rounds = isSmall ? 1 : 4
const paymentsPerS = 100
const warmUpS = isSmall ? 5 : 10
const measuredS = isSmall ? 10 : 20
const settleMs = 2_000

/** Product and single process in turns. */
export async function measureLatency(say: (line: string) => void): Promise<LatencyTurn[]> {
  const turns: LatencyTurn[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const product = await onSystem(startMesh, waitsOf)
    const oneProcess = await onSystem(() => startOneProcess(pushing), waitsOf)
    turns.push({ product, oneProcess })
    say(
      `latency ${round}: product ${quantiles(product)} ms, one process ${quantiles(oneProcess)} ms`,
    )
  }
  return turns
}

async function waitsOf(system: System): Promise<PushWaits> {
  const pushed = new Map<string, number>()
  const receiver = await startReceiver((transactionId) => {
    if (!pushed.has(transactionId)) pushed.set(transactionId, performance.now())
  })
  const agent = new Agent({ connections: 32, pipelining: 1 })
  try {
    const create = paymentCreator(system, receiver.url, agent)
    await atRate(paymentsPerS, warmUpS, create)
    await sleep(settleMs)
    const before = readCpu(system.pids)
    const answered = await atRate(paymentsPerS, measuredS, create)
    await untilAll(answered, pushed)
    await sleep(settleMs)
    const cpuMicros = cpuPerRequest(before, readCpu(system.pids), answered.size)
    const waits = Array.from(answered, ([id, atMs]) => (pushed.get(id) ?? Number.NaN) - atMs)
    const sorted = Float64Array.from(waits).toSorted()
    const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
    return { p50Ms: at(0.5), p99Ms: at(0.99), count: sorted.length, cpuMicros }
  } finally {
    await agent.close()
    receiver.stop()
  }
}

const goals = { p50Ms: 8, p99Ms: 40 }

/** The page of results/. */
export function describeLatency(turns: LatencyTurn[]): string[] {
  const of = (value: (turn: LatencyTurn) => number) => median(turns.map(value))
  const p50Ms = of(({ product }) => product.p50Ms)
  const p99Ms = of(({ product }) => product.p99Ms)
  const isReached = p50Ms <= goals.p50Ms && p99Ms <= goals.p99Ms
  return [
    `${paymentsPerS} payments/s, each paid a second later, posted, paid out and pushed five times. **From the answer to the first push: p50`,
    `${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms (medians of the turns), at most ${goals.p50Ms} and ${goals.p99Ms}: ${isReached ? 'reached' : 'missed'}.** The single process commits each`,
    'payment and posts its first push; it completes none.',
    '',
    ...table(
      [
        'turn',
        'payments',
        'product p50 / p99 ms',
        'one process p50 / p99 ms',
        'CPU ms a payment, product',
      ],
      turns.map(({ product, oneProcess }, index) => [
        String(index + 1),
        whole(product.count),
        quantiles(product),
        quantiles(oneProcess),
        (sum(Object.values(product.cpuMicros)) / 1_000).toFixed(2),
      ]),
    ),
    '',
    'CPU of the product per payment in µs, median of the turns; the simulator takes the place of the outside world:',
    '',
    ...table(
      ['process', 'µs'],
      Object.keys(turns[0]?.product.cpuMicros ?? {}).map((name) => [
        name,
        whole(of(({ product }) => product.cpuMicros[name] ?? 0)),
      ]),
    ),
  ]
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0)

function quantiles({ p50Ms, p99Ms }: PushWaits): string {
  return `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)}`
}
