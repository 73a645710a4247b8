// Measures what a tenant that asks for far more than its rate limit costs a quiet one: answers and pushes, with and without it in turns.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import type { NoisyJob, NoisyResult } from './load/noisy-load.ts'
import { atRate, paymentCreator, startReceiver, untilAll } from './load/paid-pushes.ts'
import { waitForQuiet } from './load/processes.ts'
import { all, quantile, type Times } from './load/times.ts'
import { median, table, whole } from './report.ts'
import { type System, startMesh } from './systems.ts'

/** Of a turn: from the request to its answer, and from the answer to the first push. */
export type QuietWaits = { answerMs: Times; pushMs: Times }

/** A turn of the quiet tenant alone, and one beside the noisy tenant. */
export type TenantTurn = { alone: QuietWaits; beside: QuietWaits; noisy: NoisyResult }

const isSmall = process.env['BENCH_TENANTS_SMALL'] === '1'
const rounds = isSmall ? 1 : 3
const [warmUpS, measuredS] = isSmall ? [3, 8] : [10, 30]
/** Of the sandbox: requests per second and subscription key. */
const rateLimit = 25
const quietPerS = 10
/** Twelve times its limit. */
const noisyPace = { createsPerS: 300, readsPerCreate: 0 }
const quietWithinMs = 20_000

/** Runs the turns on one system. */
export async function measureTenants(say: (line: string) => void): Promise<TenantTurn[]> {
  const system = await startMesh({ RATE_LIMIT_RPS: String(rateLimit) })
  const pushed = new Map<string, number>()
  const receiver = await startReceiver((id) => {
    if (!pushed.has(id)) pushed.set(id, performance.now())
  })
  const agent = new Agent({ connections: 32, pipelining: 1 })
  const create = paymentCreator(system, receiver.url, agent)

  async function quietTurn(): Promise<QuietWaits> {
    const answerMs: number[] = []
    await atRate(quietPerS, warmUpS, create)
    const answered = await atRate(quietPerS, measuredS, async () => {
      const sentMs = performance.now()
      const id = await create()
      answerMs.push(performance.now() - sentMs)
      return id
    })
    await untilAll(answered, pushed)
    const pushMs = Array.from(answered, ([id, atMs]) => (pushed.get(id) ?? Number.NaN) - atMs)
    return { answerMs: all([answerMs]), pushMs: all([pushMs]) }
  }

  try {
    const turns: TenantTurn[] = []
    for (let round = 1; round <= rounds; round += 1) {
      await waitForQuiet(quietWithinMs)
      const alone = await quietTurn()
      const stopNoisy = await startNoisy(system)
      const beside = await quietTurn()
      const turn = { alone, beside, noisy: await stopNoisy() }
      turns.push(turn)
      const [answers, pushes] = [quantiles(turn, 'answerMs'), quantiles(turn, 'pushMs')]
      say(
        `tenants ${round}: answers ${answers.join(', beside ')}; pushes ${pushes.join(', beside ')}`,
      )
    }
    return turns
  } finally {
    await agent.close()
    receiver.stop()
    await system.stop()
  }
}

/** Starts the noisy tenant in a process of its own; what it returns stops it. */
async function startNoisy({ target, sandbox }: System): Promise<() => Promise<NoisyResult>> {
  const { subscription_key: subscriptionKey, api_key: apiKey } = sandbox.projects.other
  const child = fork(path.join(import.meta.dirname, 'load', 'noisy-load.ts'))
  child.send({ target: { ...target, subscriptionKey, apiKey }, pace: noisyPace } satisfies NoisyJob)
  await sleep(1_000)
  return async () => {
    child.send('stop')
    const [result] = (await once(child, 'message')) as [NoisyResult]
    return result
  }
}

const shiftOf = ({ alone, beside }: TenantTurn, of: keyof QuietWaits): number =>
  quantile(beside[of], 0.99) / quantile(alone[of], 0.99)

function quantiles({ alone, beside }: TenantTurn, of: keyof QuietWaits): string[] {
  return [alone, beside].map(({ [of]: values }) =>
    [0.5, 0.99].map((share) => quantile(values, share).toFixed(1)).join(' / '),
  )
}

const maxShift = 1.2

/** The page of results/. */
export function describeTenants(turns: TenantTurn[]): string[] {
  const said = (of: keyof QuietWaits): string => {
    const shift = median(turns.map((turn) => shiftOf(turn, of)))
    return `${shift.toFixed(2)} times (${shift <= maxShift ? 'reached' : 'missed'})`
  }
  return [
    `One tenant creates ${quietPerS} payments/s, another asks for ${noisyPace.createsPerS} with a rate limit of ${rateLimit}. **Beside it the p99 of the quiet tenant is,`,
    `at most ${maxShift} times: answers ${said('answerMs')}, first pushes ${said('pushMs')}, medians of the turns.**`,
    '',
    ...table(
      [
        'turn',
        'answers p50 / p99 ms',
        'beside the noisy tenant',
        'first push after the answer p50 / p99 ms',
        'beside the noisy tenant',
        'requests of the noisy tenant: accepted / refused',
      ],
      turns.map((turn, index) => [
        String(index + 1),
        ...quantiles(turn, 'answerMs'),
        ...quantiles(turn, 'pushMs'),
        `${whole(turn.noisy.accepted)} / ${whole(turn.noisy.refused)}`,
      ]),
    ),
  ]
}
