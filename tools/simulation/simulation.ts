// One run of a seed: what its parts share, and its two phases.
import { type Broker, createBroker } from './broker.ts'
import { simulate } from './engine/globals.ts'
import { createScheduler, type Scheduler } from './engine/scheduler.ts'
import { injectFaults, type Member, type Targeted } from './faults.ts'
import { createNetwork, type Network } from './network.ts'
import type { Plan } from './plan.ts'
import type { Server } from './postgres/server.ts'

/** The parts of a run, which its processes share, and its plan of faults. */
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

/** What a run has found: the rules that it broke, in words; and how many faults it met. */
export type Result = { broken: string[]; history: readonly string[]; faults: number }

/** Simulated time after the faults in which all must have come to its end: leases expire and breakers close within it. */
const recoveryMs = 300_000
const lookMs = 1_000
/** Looks in a row that find everything at rest; then there is nothing left to break. */
const enoughLooks = 5
/** When nothing fails any more most pauses end with a look that finds nothing: fewer of them show as much. */
const pausesAfterFaults = 5

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

/**
 * Runs with faults, heals all, and runs on until every process runs and is at rest. False when it is not within five simulated
 * minutes. Faults end early when there is nothing left to break.
 */
export async function runToRest(
  { scheduler, plan, network, broker, targeted }: Simulation,
  members: readonly Member[],
  isAtRest: () => Promise<boolean>,
): Promise<boolean> {
  Object.assign(targeted, injectFaults(scheduler, plan, members, broker))
  const limitMs = plan.faultsMs + recoveryMs
  let areFaultsOver = false
  let looksAtRest = 0
  let isOver = false
  const endFaults = (): void => {
    if (areFaultsOver) return
    areFaultsOver = true
    plan.faultsMs = scheduler.nowMs()
    scheduler.record('seed', 'faults end')
    network.heal()
    scheduler.stretchPauses(pausesAfterFaults)
  }
  // What a process that was paused still does counts, too.
  const areRunning = (): boolean =>
    members.every(({ process: { isAlive, pausedUntilMs } }) => {
      return isAlive && pausedUntilMs <= scheduler.nowMs()
    })
  const look = async (): Promise<void> => {
    const rests = areRunning() && (await isAtRest())
    looksAtRest = rests ? looksAtRest + 1 : 0
    isOver = rests && areFaultsOver
    if (looksAtRest === enoughLooks) endFaults()
    if (!isOver) scheduler.after(lookMs, look)
  }
  scheduler.after(plan.faultsMs, endFaults)
  scheduler.after(lookMs, look)
  return scheduler.run(() => isOver, limitMs)
}

/** Ends the processes, so that their sessions go back to the server. */
export async function endRun(
  { scheduler, targeted }: Simulation,
  members: readonly Member[],
  broken: string[],
): Promise<Result> {
  for (const { process, crash } of members) {
    process.isAlive = false
    crash()
  }
  await scheduler.run(() => false, scheduler.nowMs() + recoveryMs)
  return { broken, history: scheduler.history(), faults: targeted.injected?.() ?? 0 }
}
