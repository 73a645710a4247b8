// A loop that polls for due work of the simulator.
import { type Loop, startLoop, systemTimers, type Timers } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'

/** Due work may be leased to another process. */
const busyPauseMs = 5
/** Maximum pause. */
export const maxPauseMs = 1_000

export type PollOptions = {
  /** Names the loop in the log. */
  kind: string
  log: Logger
  /**
   * Does the work that is due. True: more may be due, so poll again at once. A number: nothing is due for that many
   * milliseconds. False: nothing was due.
   */
  round: () => Promise<boolean | number>
  /** The time that the loop runs by; that of the process when unset. */
  timers?: Timers
}

/** Starts a loop that looks while there is work, after `notify`, and else once a second for what another process left. */
export function startPoll(options: PollOptions): Loop {
  return startLoop({ ...options, pauseMs: maxPauseMs, gatherMs: () => 0 })
}

export type DuePollOptions = {
  /** Names the loop in the log. */
  kind: string
  log: Logger
  /** Milliseconds until something is due, 0 when it is; undefined when nothing is planned. */
  waitMs: () => Promise<number | undefined>
  /** Does what is due. */
  workOff: () => Promise<void>
  /** The time that the loop runs by; that of the process when unset. */
  timers?: Timers
}

/** A loop over work with a time. */
export type DuePoll = Loop & {
  /** Call it when work was stored that is due in so many milliseconds: cuts the pause short only if it ends later. */
  notifyIn(ms: number): void
}

/** Starts a loop over work with a time: it asks for the time alone while nothing is due. */
export function startDuePoll(options: DuePollOptions): DuePoll {
  const { kind, log, waitMs, workOff, timers = systemTimers } = options
  // When the pause ends. A round may have asked before the work was stored.
  let wakeAtMs = Number.POSITIVE_INFINITY

  async function pauseAfterRound(): Promise<number> {
    const ms = await waitMs()
    // What is planned meanwhile by another process is seen within a second.
    if (ms === undefined) return maxPauseMs
    if (ms > 0) return Math.min(Math.max(ms, busyPauseMs), maxPauseMs)
    await workOff()
    return busyPauseMs
  }

  const loop = startPoll({
    kind,
    log,
    timers,
    async round() {
      wakeAtMs = Number.POSITIVE_INFINITY
      const ms = await pauseAfterRound()
      wakeAtMs = timers.nowMs() + ms
      return ms
    },
  })
  return {
    ...loop,
    notifyIn(ms) {
      if (timers.nowMs() + ms < wakeAtMs) loop.notify()
    },
  }
}
