// A loop over work that may be due.
import { createSignal } from '#platform/process/signal.ts'
import { runDetached } from '../rpc/context.ts'
import type { Logger } from '../telemetry/log.ts'

/** A loop that runs until it is closed. */
export type Loop = {
  /** Cuts the pause short. Never throws. */
  notify(): void
  /** Stops after the current round. Never rejects. */
  close(): Promise<void>
}

/** What a loop does. */
export type LoopOptions = {
  /** Names the loop in the log. */
  kind: string
  log: Logger
  /** Longest pause between two rounds, or the first one after `notify` if `idlePauseMs` is given. */
  pauseMs: number
  /** The pause grows to this without notifications: then only time makes work, or the death of another replica. */
  idlePauseMs?: number
  /** How long notifications are collected before a round; without it about as long as the last round took. */
  gatherMs?: () => number
  /** Does what is due; true when more may be due at once. An error is logged, and the loop pauses and goes on. */
  round: () => Promise<boolean>
}

// Notifications this close together make one round, so that its batch is worth the statement: as long as the last
// round took, so that a busy machine makes fewer and larger ones.
const gathering = { minMs: 5, maxMs: 50 }
// With this growth each pause is about a third of the time since the last notification, so that late work waits little
// longer.
const growth = 1.5

/** Starts a loop outside of any call, so that no request's deadline binds it. */
export function startLoop(options: LoopOptions): Loop {
  const { kind, log, pauseMs, idlePauseMs, round } = options
  const maxPauseMs = idlePauseMs ?? pauseMs
  const wakeup = createSignal()
  const stopping = new AbortController()
  let idleMs = pauseMs

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const beganMs = performance.now()
      if (await workOnce()) continue
      if (stopping.signal.aborted) return
      const tookMs = performance.now() - beganMs
      const nowMs = idleMs
      idleMs = Math.min(maxPauseMs, nowMs * growth)
      await wakeup.pause(nowMs)
      const byWorkMs = Math.min(gathering.maxMs, Math.max(gathering.minMs, tookMs))
      const gatherMs = options.gatherMs?.() ?? byWorkMs
      await new Promise((resolve) => setTimeout(resolve, gatherMs))
    }
  }

  async function workOnce(): Promise<boolean> {
    try {
      return await round()
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
