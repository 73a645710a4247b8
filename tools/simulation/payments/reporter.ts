// The reports of a connector to payments: each is sent until it is answered, some twice.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import type { Process } from '../engine/scheduler.ts'
import type { Simulation } from '../simulation.ts'

/** Sends reports. */
export type Reporter = {
  /** Sends it after some time, again and again until it is answered; during faults perhaps once more. */
  report(afterMs: number, send: () => Promise<unknown>): void
  /** Whether all were answered. */
  isQuiet(): boolean
}

const twiceShare = 0.3

/** The reporter of a connector, in its process. */
export function createReporter(
  { scheduler, plan, unexpected }: Simulation,
  { name, process }: { name: string; process: Process },
): Reporter {
  const { random } = scheduler
  let unheard = 0

  function sendAfter(afterMs: number, send: () => Promise<unknown>): void {
    unheard += 1
    const repeat = async (): Promise<void> => {
      for (let isHeard = false; !isHeard; ) {
        isHeard = await send().then(() => true, isRefusal)
        if (!isHeard) await delay(random.whole(100, 3_000))
      }
      unheard -= 1
    }
    scheduler.after(afterMs, repeat, process)
  }

  /** A report about what payments has asked for must be known there. */
  function isRefusal(error: unknown): boolean {
    if (!(error instanceof Failure)) throw error
    if (error.reason !== 'CHARGE_NOT_FOUND') return false
    unexpected.push(`a report of ${name} was refused: ${error.message}`)
    return true
  }

  return {
    report(afterMs, send) {
      sendAfter(afterMs, send)
      const hasFaults = scheduler.nowMs() < plan.faultsMs
      if (hasFaults && random.next() < twiceShare) sendAfter(afterMs + random.whole(0, 9_000), send)
    },
    isQuiet: () => unheard === 0,
  }
}
