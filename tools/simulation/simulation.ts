// One run of a seed: what its parts share, and its two phases.
import { type Broker, createBroker } from './broker.ts'
import { simulate } from './engine/globals.ts'
import { createScheduler, type Scheduler } from './engine/scheduler.ts'
import { injectFaults, type Member, type Targeted } from './faults.ts'
import { createNetwork, type Network } from './network.ts'
import type { Plan } from './plan.ts'
import type { Server } from './postgres/server.ts'

/** The world of a run. */
export type Simulation = {
  plan: Plan
  scheduler: Scheduler
  network: Network
  broker: Broker
  server: Server
  /** Set when faults begin. */
  targeted: Partial<Targeted>
  /** Errors that no answer may have, in words. */
  unexpected: string[]
  /** Draws by how much the clock of a new process is off. */
  skewMs(): number
}

/** What a run has found: the rules that it broke, in words. */
export type Result = { broken: string[]; history: readonly string[] }

/** Simulated time after the faults in which all must have come to its end: leases expire and breakers close within it. */
const recoveryMs = 300_000
const lookMs = 500

/** Makes the parts of a run; the tables are empty. */
export async function createSimulation(
  server: Server,
  seed: number,
  plan: Plan,
): Promise<Simulation> {
  const scheduler = createScheduler(seed)
  simulate(scheduler)
  await server.reset()
  scheduler.record('seed', JSON.stringify(plan))
  const network = createNetwork(scheduler.random, plan.network)
  const targeted: Partial<Targeted> = {}
  const broker = createBroker(scheduler, network, () => targeted.onStored?.())
  const skewMs = () => Math.round((scheduler.random.next() * 2 - 1) * plan.maxSkewMs)
  return { plan, scheduler, network, broker, server, targeted, unexpected: [], skewMs }
}

/** Runs with faults, heals all, and runs on until every process runs and is at rest. False when it is not within five simulated minutes. */
export async function runToRest(
  { scheduler, plan, network, broker, targeted }: Simulation,
  members: readonly Member[],
  isAtRest: () => Promise<boolean>,
): Promise<boolean> {
  Object.assign(targeted, injectFaults(scheduler, plan, members, broker))
  let isOver = false
  scheduler.after(plan.faultsMs, () => {
    scheduler.record('seed', 'faults end')
    network.heal()
  })
  const look = async (): Promise<void> => {
    isOver = members.every(({ process }) => process.isAlive) && (await isAtRest())
    if (!isOver) scheduler.after(lookMs, look)
  }
  scheduler.after(plan.faultsMs + lookMs, look)
  return scheduler.run(() => isOver, plan.faultsMs + recoveryMs)
}

/** Ends the processes, so that their sessions go back to the server. */
export async function endRun(
  { scheduler }: Simulation,
  members: readonly Member[],
  broken: string[],
): Promise<Result> {
  for (const { process, crash } of members) {
    process.isAlive = false
    crash()
  }
  await scheduler.run(() => false, scheduler.nowMs() + recoveryMs)
  return { broken, history: scheduler.history() }
}
