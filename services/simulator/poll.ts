// A loop over work that may be due. It must not know what the work is.
import { createWake } from '#runtime/events/wake.ts'
import type { Logger } from '#runtime/log.ts'
import { runDetached } from '#runtime/rpc/context.ts'

/** A loop that runs until it is closed. */
export type Poll = {
  /** Looks at once instead of at the end of the pause. */
  kick(): void
  /** Lets the round under way end. */
  close(): Promise<void>
}

const leastMs = 20
/** What is due already may be in another process's hands. */
const soonestMs = 5
const mostMs = 1_000
const afterErrorMs = 250

export type PollOptions = {
  log: Logger
  /**
   * Does what is due. True: there may be more, so look again at once. A number: nothing is due for
   * so many milliseconds. False: nothing was due.
   */
  round: () => Promise<boolean | number>
}

/** Starts a loop that looks often while there is work and after a kick, and once a second when there is none. */
export function startPoll({ log, round }: PollOptions): Poll {
  const wake = createWake()
  const stopping = new AbortController()
  let idleMs = leastMs

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const result = await round()
        if (result === true) {
          idleMs = leastMs
          continue
        }
        idleMs = Math.min(mostMs, idleMs * 1.5)
        await pauseFor(result === false ? idleMs : Math.min(Math.max(result, soonestMs), idleMs))
      } catch (error) {
        log.warn({ err: error }, 'round of work failed')
        await pauseFor(afterErrorMs)
      }
    }
  }

  async function pauseFor(ms: number): Promise<void> {
    if (!stopping.signal.aborted) await wake.pause(ms)
  }

  // A kick comes from a request whose deadline must not bind the loop.
  const running = runDetached(run)
  return {
    kick() {
      idleMs = leastMs
      wake.wake()
    },
    close() {
      stopping.abort()
      wake.wake()
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
      return soonestMs
    },
  })
}
