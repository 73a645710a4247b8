// A loop that polls for due work.
import { createSignal } from '#platform/process/signal.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { Logger } from '#platform/telemetry/log.ts'

/** A loop that runs until it is closed. */
export type Poll = {
  /** Looks at once instead of at the end of the pause. */
  notify(): void
  /** Lets the round under way end. */
  close(): Promise<void>
}

const minMs = 20
/** Due work may be leased to another process. */
const busyPauseMs = 5
const maxMs = 1_000
const afterErrorMs = 250

export type PollOptions = {
  log: Logger
  /**
   * Does what is due. True: there may be more, so look again at once. A number: nothing is due for
   * so many milliseconds. False: nothing was due.
   */
  round: () => Promise<boolean | number>
}

/** Starts a loop that looks often while there is work and after `notify`, and once a second when there is none. */
export function startPoll({ log, round }: PollOptions): Poll {
  const wakeup = createSignal()
  const stopping = new AbortController()
  let idleMs = minMs

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const result = await round()
        if (result === true) {
          idleMs = minMs
          continue
        }
        idleMs = Math.min(maxMs, idleMs * 1.5)
        await pauseFor(result === false ? idleMs : Math.min(Math.max(result, busyPauseMs), idleMs))
      } catch (error) {
        log.warn({ err: error }, 'round of work failed')
        await pauseFor(afterErrorMs)
      }
    }
  }

  async function pauseFor(ms: number): Promise<void> {
    if (!stopping.signal.aborted) await wakeup.pause(ms)
  }

  // The call comes from a request; its deadline does not apply to the loop.
  const running = runDetached(run)
  return {
    notify() {
      idleMs = minMs
      wakeup.notify()
    },
    close() {
      stopping.abort()
      wakeup.notify()
      return running
    },
  }
}

export type DuePollOptions = {
  log: Logger
  /** Milliseconds until something is due, 0 when it is; undefined when nothing is planned. */
  waitMs: () => Promise<number | undefined>
  /** Does what is due. */
  workOff: () => Promise<void>
}

/** Starts a loop over work with a time: it asks for the time alone while nothing is due. */
export function startDuePoll({ log, waitMs, workOff }: DuePollOptions): Poll {
  return startPoll({
    log,
    async round() {
      const ms = await waitMs()
      if (ms === undefined) return false
      if (ms > 0) return ms
      await workOff()
      return busyPauseMs
    },
  })
}
