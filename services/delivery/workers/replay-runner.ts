// Runs replay jobs step by step; any replica may run a step, so no state is kept between steps.
import type { Database } from '#platform/db/db.ts'
import { createSignal } from '#platform/process/signal.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { stepReplay } from '../store/replay-store.ts'

/** What the loop needs. */
export interface ReplayRunnerOptions {
  db: Database
  log: Logger
  /** Called when something became due. */
  onDue: () => void
}

/** A loop that runs. */
export interface ReplayRunner {
  /** Says that there is a new job. */
  notify(): void
  /** Ends after the step that is under way. */
  close(): Promise<void>
}

const limits = { scan: 5_000, perS: 4 }
const idleMs = 1_000
/** Between looks while a job runs: shorter than its steps are apart. */
const busyMs = 50
const busyForMs = 2_000

/** Starts the loop. */
export function startReplayRunner({ db, log, onDue }: ReplayRunnerOptions): ReplayRunner {
  const wakeup = createSignal()
  const stopping = new AbortController()
  let workedMs = Number.NEGATIVE_INFINITY

  async function step(): Promise<void> {
    const begun = await stepReplay(db, limits)
    if (begun === undefined) return
    workedMs = performance.now()
    if (begun > 0) onDue()
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await step().catch((error: unknown) => log.warn({ err: error }, 'replay step failed'))
      const busy = performance.now() - workedMs < busyForMs
      if (!stopping.signal.aborted) await wakeup.pause(busy ? busyMs : idleMs)
    }
  }

  const running = run()
  return {
    notify: wakeup.notify,
    close() {
      stopping.abort()
      wakeup.notify()
      return running
    },
  }
}
