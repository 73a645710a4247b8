// A loop over work that may be due, the signal that cuts its pause short, and the timers that it runs by.
import { runDetached } from '../rpc/context.ts'
import type { Logger } from '../telemetry/log.ts'

/** A monotonic clock with timers. */
export type Timers = {
  /** Milliseconds since an arbitrary moment; never goes back. */
  nowMs(): number
  /** Runs `work` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, work: () => void): () => void
}

/** The timers of Node.js. */
export const systemTimers: Timers = {
  nowMs: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
}

export type Signal = {
  /** Resolves after `ms`, at once if notified since the last pause, or when notified. One pause at a time. */
  pause: (ms: number) => Promise<void>
  /** Many calls during one round cut short one pause. */
  notify: () => void
}

/** Makes the signal of one loop. */
export function createSignal(timers: Timers = systemTimers): Signal {
  let isNotified = false
  let resume: (() => void) | undefined
  return {
    async pause(ms) {
      if (!isNotified) {
        await new Promise<void>((resolve) => {
          const cancel = timers.after(ms, resolve)
          resume = () => {
            cancel()
            resolve()
          }
        })
      }
      resume = undefined
      isNotified = false
    },
    notify() {
      isNotified = true
      resume?.()
    },
  }
}

/** Runs `work` once, `ms` milliseconds after the first of some calls of `start`; `stop` ends it. Keeps no process alive. */
export function createDelay(ms: number, work: () => void): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  return {
    start() {
      timer ??= setTimeout(() => {
        timer = undefined
        work()
      }, ms).unref()
    },
    stop: () => clearTimeout(timer),
  }
}

/** A loop that runs until it is closed. */
export type Loop = {
  /** Cuts the pause short. */
  notify(): void
  /** Stops after the current round. Never rejects. */
  close(): Promise<void>
}

/** The round before a pause: how long it took, and how long ago it began, in milliseconds. */
export type LastRound = { tookMs: number; agoMs: number }

/** What a loop does, and how long it pauses. All times are in milliseconds. */
export type LoopOptions = {
  /** Names the loop in the log. */
  kind: string
  log: Logger
  /** Maximum pause between two rounds or, if `idlePauseMs` is given, the first pause after `notify`. */
  pauseMs: number
  /**
   * Maximum to which the pause grows without notifications, when work comes only by time or from a replica that died.
   */
  idlePauseMs?: number
  /** Pause before the first round; none when unset. */
  firstPauseMs?: number
  /** How long notifications are collected after a pause; without it about as long as the last round took. */
  gatherMs?: (last: LastRound) => number
  /**
   * Does the work that is due. True: more may be due at once. A number: pause for that many ms. False: pause as the options say. When it
   * throws, the error is logged and the loop pauses as after false.
   */
  round: () => Promise<boolean | number>
  /** The time that the loop runs by; that of the process when unset. */
  timers?: Timers
}

// Notifications this close together make one round, so that its batch is worth the statement: as long as the last
// round took, so that a busy machine makes fewer and larger ones.
const gathering = { minMs: 5, maxMs: 50 }
// With this growth each pause is about a third of the time since the last notification, so that late work waits little
// longer.
const growth = 1.5

/** Starts a loop outside of any call, so that no request's deadline binds it. */
export function startLoop(options: LoopOptions): Loop {
  const { kind, log, pauseMs, idlePauseMs, firstPauseMs, timers = systemTimers } = options
  const { gatherMs = gatherAsLongAs } = options
  const maxPauseMs = idlePauseMs ?? pauseMs
  const wakeup = createSignal(timers)
  const stopping = new AbortController()
  let idleMs = pauseMs

  async function run(): Promise<void> {
    if (firstPauseMs !== undefined) await wakeup.pause(firstPauseMs)
    while (!stopping.signal.aborted) {
      const beganMs = timers.nowMs()
      const next = await workOnce()
      if (stopping.signal.aborted) return
      if (next !== false) idleMs = pauseMs
      if (next === true) continue
      const tookMs = timers.nowMs() - beganMs
      const nowMs = next === false ? idleMs : next
      if (next === false) idleMs = Math.min(maxPauseMs, idleMs * growth)
      await wakeup.pause(nowMs)
      const waitMs = gatherMs({ tookMs, agoMs: timers.nowMs() - beganMs })
      if (waitMs > 0) await new Promise<void>((resolve) => void timers.after(waitMs, resolve))
    }
  }

  async function workOnce(): Promise<boolean | number> {
    try {
      return await options.round()
    } catch (error) {
      log.warn({ err: error, kind }, 'round of work failed')
      return false
    }
  }

  const running = runDetached(run)
  return {
    notify() {
      idleMs = pauseMs
      wakeup.notify()
    },
    close() {
      stopping.abort()
      wakeup.notify()
      return running
    },
  }
}

function gatherAsLongAs({ tookMs }: LastRound): number {
  return Math.min(gathering.maxMs, Math.max(gathering.minMs, tookMs))
}

/**
 * Runs work on every item, `width` at a time. Never rejects: an item that fails is logged and does not stop the others.
 */
export async function forEachOf<T>(
  items: T[],
  { width, kind, log }: { width: number; kind: string; log: Logger },
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      try {
        await work(item)
      } catch (error) {
        log.warn({ err: error, kind }, 'item of work failed')
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane))
}
