// Injects the faults of a plan into a run: crashes, pauses and cuts of processes, and failures of the broker.
import type { Broker } from './broker.ts'
import type { Process, Scheduler } from './engine/scheduler.ts'
import type { Plan } from './plan.ts'

/** A process that is started again when it ends. */
export type Member = {
  readonly process: Process
  /** Ends it where it is. */
  crash(): void
  /** Cuts it off from the database. */
  cut(forMs: number): void
  /** Starts the next incarnation. */
  start(): void
}

/** Faults at certain moments, in a share of the cases. */
export type Targeted = {
  /** How many faults of any kind there were. */
  injected(): number
  /** A POST or an RPC of the process is on its way. */
  onCall(process: Process): void
  /** The broker has stored a message, and nobody has it yet. */
  onStored(): void
}

const maxDownMs = 3_000
/** A long one lasts longer than it takes until a process counts as lost. */
const cutMs = [
  { min: 100, max: 1_000 },
  { min: 3_500, max: 9_000 },
]
/** A long pause ends after every lease. */
const longPauseMs = { min: 61_000, max: 75_000 }

/**
 * Begins to break things; it ends with the faults of the plan. Returns what breaks more of them at the moments at which that
 * matters most.
 */
export function injectFaults(
  scheduler: Scheduler,
  plan: Plan,
  members: readonly Member[],
  broker: Broker,
): Targeted {
  const { random } = scheduler
  const { record, injected } = createFaultLog(scheduler)

  function every(meanMs: number | undefined, inject: () => void): void {
    if (meanMs === undefined) return
    const pauseMs = -Math.log(1 - random.next()) * meanMs
    scheduler.after(pauseMs, () => {
      if (scheduler.nowMs() > plan.faultsMs) return
      inject()
      every(meanMs, inject)
    })
  }

  function crash(member: Member): void {
    const { process } = member
    if (!process.isAlive) return
    record(process.name, 'CRASHES')
    process.isAlive = false
    member.crash()
    scheduler.after(random.whole(10, maxDownMs), () => member.start())
  }

  function pause({ process }: Member): void {
    if (!process.isAlive || process.pausedUntilMs > scheduler.nowMs()) return
    const isLong = random.next() < plan.longPauseShare
    const pauseMs = isLong ? random.whole(longPauseMs.min, longPauseMs.max) : random.whole(1, 4_000)
    record(process.name, `PAUSES for ${pauseMs} ms`)
    process.pausedUntilMs = scheduler.nowMs() + pauseMs
  }

  function cut(member: Member): void {
    if (!member.process.isAlive) return
    const { min, max } = random.pick(cutMs)
    const forMs = random.whole(min, max)
    record(member.process.name, `CUT OFF from the database for ${forMs} ms`)
    member.cut(forMs)
  }

  const kinds = [
    { everyMs: plan.crashEveryMs, inject: crash },
    { everyMs: plan.pauseEveryMs, inject: pause },
    { everyMs: plan.cutEveryMs, inject: cut },
  ].filter(({ everyMs }) => everyMs !== undefined)
  for (const { everyMs, inject } of kinds) every(everyMs, () => inject(random.pick(members)))

  function stopBroker(isWiped: boolean): void {
    if (!broker.isUp()) return
    record('broker', isWiped ? 'STOPS and loses its store' : 'STOPS')
    broker.stop(isWiped)
    scheduler.after(random.whole(10, maxDownMs), () => {
      scheduler.record('broker', 'starts')
      broker.start()
    })
  }
  every(plan.brokerEveryMs, () => stopBroker(random.next() < 0.4))

  const isTargeted = (): boolean =>
    scheduler.nowMs() < plan.faultsMs && random.next() < plan.targetedShare
  return {
    injected,
    onCall(process) {
      const member = members.find((one) => one.process === process)
      if (kinds.length > 0 && member !== undefined && isTargeted())
        random.pick(kinds).inject(member)
    },
    onStored() {
      if (plan.brokerEveryMs !== undefined && isTargeted()) stopBroker(true)
    },
  }
}

/** Records faults in the history and counts them. */
function createFaultLog(scheduler: Scheduler) {
  let count = 0
  return {
    record(actor: string, what: string): void {
      count += 1
      scheduler.record(actor, what)
    },
    injected: () => count,
  }
}
