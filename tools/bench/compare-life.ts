// Compares whole payments of the product with pgbench, which writes the least that one leaves behind, in turns.
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../../deploy/local/postgres/postgres.ts'
import { onSystem } from './compare.ts'
import { type LifeLoad, startLifeLoad } from './load/life-load.ts'
import { type CpuSeconds, cpuPerRequest, readCpu, readMachine } from './load/processes.ts'
import { median, percent, table, whole } from './report.ts'
import {
  countStatements,
  forgetStatements,
  readStatements,
  type StatementCosts,
  waitForConfirmed,
  waitForPosted,
} from './store/life-store.ts'
import { emptyFolder, type System, startMesh, startMeshOn } from './systems.ts'
import { scriptPerSecond } from './yardsticks/pgbench.ts'

/** One turn. */
export type LifeTurn = {
  perSecond: number
  /** Transactions of life.sql per second, seven to a payment's life. */
  lifeSql: number
  /** Microseconds for each payment of the burst, by process. */
  cpuMicros: CpuSeconds
  othersShare: number
}

/** CPU at rest: microseconds for each payment of ten a second, and the share of a core of a mesh without work. */
export type AtRest = { microsPerPayment: number; idleShare: number }

const rounds = Number(process.env['BENCH_LIFE_ROUNDS'] ?? 5)
const burst = Number(process.env['BENCH_LIFE_BURST'] ?? 3_000)
const warmUp = Math.round(burst / 3)
const port = 17_150
const idlePhaseS = 20
const settleMs = 2_000

/** Product and pgbench in turns, the first of which is not counted. */
export async function compareLife(say: (line: string) => void): Promise<LifeTurn[]> {
  const turns: LifeTurn[] = []
  for (let round = 0; round < rounds; round += 1) {
    const product = await onSystem(startMesh, measureBurst)
    const lifeSql = await measureYardstick()
    const turn = { ...product, lifeSql }
    say(
      `life ${round}: product ${turn.perSecond.toFixed(0)}/s, life.sql ${lifeSql.toFixed(0)}/s, ${costOf(turn).toFixed(0)} µs, others ${percent(turn.othersShare)} %`,
    )
    if (round > 0) turns.push(turn)
  }
  return turns
}

/** What ten payments a second cost, and a mesh without work. */
export async function measureRest(): Promise<AtRest> {
  return await onSystem(startMesh, (system) =>
    withLoad(system, async (load) => {
      await load.burst(warmUp)
      await waitForConfirmed(system.databaseUrl)
      await sleep(settleMs)
      const before = readCpu(system.pids)
      const count = await load.pace(10, idlePhaseS)
      await waitForConfirmed(system.databaseUrl)
      const paced = readCpu(system.pids)
      await sleep(settleMs)
      const idle = readCpu(system.pids)
      await sleep(idlePhaseS * 1_000)
      const idleS = total(cpuPerRequest(idle, readCpu(system.pids), 1)) / 1e6
      return {
        microsPerPayment: costOf({ cpuMicros: cpuPerRequest(before, paced, count) }),
        idleShare: idleS / idlePhaseS,
      }
    }),
  )
}

/** The statements of a burst, counted by PostgreSQL in a run of its own, since counting costs. */
export async function countLifeStatements(): Promise<StatementCosts> {
  const dataDir = emptyFolder()
  const first = await startMeshOn(dataDir)
  await countStatements(first.databaseUrl)
  await first.stopServing()
  return await onSystem(
    () => startMeshOn(dataDir),
    (system) =>
      withLoad(system, async (load) => {
        await load.burst(warmUp)
        await waitForConfirmed(system.databaseUrl)
        const commits = await forgetStatements(system.databaseUrl)
        await load.burst(burst)
        await waitForConfirmed(system.databaseUrl)
        return await readStatements(system.databaseUrl, commits)
      }),
  )
}

async function withLoad<T>(system: System, work: (load: LifeLoad) => Promise<T>): Promise<T> {
  const load = await startLifeLoad(system.target)
  try {
    return await work(load)
  } finally {
    await load.close()
  }
}

async function measureBurst(system: System): Promise<Omit<LifeTurn, 'lifeSql'>> {
  return await withLoad(system, async (load) => {
    await load.burst(warmUp)
    await waitForConfirmed(system.databaseUrl)
    const pids = { ...system.pids, load: process.pid }
    const look = () => ({ cpu: readCpu(pids), machine: readMachine() })
    const before = look()
    const beganMs = performance.now()
    await load.burst(burst)
    await waitForPosted(system.databaseUrl)
    const seconds = (performance.now() - beganMs) / 1_000
    await waitForConfirmed(system.databaseUrl)
    const after = look()
    const machine = after.machine.busyS - before.machine.busyS
    const ours = total(after.cpu) - total(before.cpu)
    return {
      perSecond: burst / seconds,
      cpuMicros: cpuPerRequest(before.cpu, after.cpu, burst),
      othersShare: Math.max(0, machine - ours) / (after.machine.wholeS - before.machine.wholeS),
    }
  })
}

/** Transactions of life.sql per second on a server of its own. */
async function measureYardstick(): Promise<number> {
  const dataDir = emptyFolder()
  const postgres = await startPostgres({ dataDir, port, log: () => undefined })
  try {
    return await scriptPerSecond(postgres.adminUrl, 'life')
  } finally {
    await postgres.stop()
    fs.rmSync(dataDir, { recursive: true, force: true })
  }
}

/** All but the load and the simulator, which takes the place of the outside world. */
function costOf({ cpuMicros }: Pick<LifeTurn, 'cpuMicros'>): number {
  return total(cpuMicros) - (cpuMicros['load'] ?? 0) - (cpuMicros['simulator'] ?? 0)
}

function total(values: Record<string, number>): number {
  return Object.values(values).reduce((sum, value) => sum + value, 0)
}

/** Turns, rest and statements as Markdown. */
export function describeLife(
  turns: LifeTurn[],
  rest: AtRest,
  statements: StatementCosts,
): string[] {
  const ratio = median(turns.map(({ perSecond, lifeSql }) => perSecond / lifeSql))
  const cost = median(turns.map(costOf))
  const names = Object.keys(turns[0]?.cpuMicros ?? {})
  const calls = statements.all.reduce((sum, one) => sum + one.calls, 0)
  return [
    `Bursts of ${whole(burst)} payments, each created, paid, posted, paid out and pushed five times. **To [life.sql](../yardsticks/life.sql): median ${ratio.toFixed(2)}`,
    `(at least 0.4). CPU without the simulator: median ${ms(cost)} ms a payment (at most 5); ${ms(rest.microsPerPayment)} ms at 10 payments/s (at most 8);`,
    `idle: ${(rest.idleShare * 100).toFixed(1)} % of a core (less than 1).**`,
    '',
    ...table(
      ['turn', 'payments/s', 'life.sql/s', 'ratio', 'ms of CPU a payment', 'taken by others, %'],
      turns.map((turn, index) => [
        String(index + 1),
        whole(turn.perSecond),
        whole(turn.lifeSql),
        (turn.perSecond / turn.lifeSql).toFixed(2),
        ms(costOf(turn)),
        percent(turn.othersShare),
      ]),
    ),
    '',
    'CPU per payment in µs, median of the turns:',
    '',
    ...table(
      ['process', 'µs'],
      names.map((name) => [
        name,
        whole(median(turns.map(({ cpuMicros }) => cpuMicros[name] ?? 0))),
      ]),
    ),
    '',
    `PostgreSQL ran ${(calls / burst).toFixed(1)} statements in ${(statements.commits / burst).toFixed(1)} transactions a payment, those of the simulator included. The ten that took most time:`,
    '',
    ...table(
      ['statement', 'calls a payment', 'rows a call', 'µs a payment'],
      statements.all
        .slice(0, 10)
        .map(({ statement, calls, micros, rows }) => [
          `\`${statement.slice(0, 90).replaceAll('|', '/')}\``,
          (calls / burst).toFixed(3),
          (rows / calls).toFixed(1),
          whole(micros / burst),
        ]),
    ),
  ]
}

function ms(micros: number): string {
  return (micros / 1_000).toFixed(1)
}
