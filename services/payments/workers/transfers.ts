// Makes refunds and payouts: each is a call of its own, and many begin together.
import type { Timers } from '#platform/process/loop.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { BackendCall } from '../domain/backend-call.ts'
import type { CallQueue } from './call-queue.ts'

/** Transfers in flight. */
export const maxTransfers = 32

/**
 * How far apart groups of transfers begin. A transfer that comes later than this after the group before it is made at once; those that
 * come earlier are made together when the time has passed.
 */
const spacingMs = 50

/** Takes transfers from a queue. */
export type Transfers = {
  /** Call it after a push to the queue. Never throws, never waits. */
  notify(): void
  /** Takes no more; ends when those in flight have. Never rejects. */
  close(): Promise<unknown>
}

/** Starts the lanes in which transfers are made one after the other. */
export function startTransfers(
  { log, timers }: { log: Logger; timers: Timers },
  queue: CallQueue,
  make: (calls: BackendCall[]) => Promise<void>,
): Transfers {
  const lanes = new Set<Promise<void>>()
  let beganMs = Number.NEGATIVE_INFINITY
  // Transfers of the group that have not begun: there are more of them than lanes.
  let left = 0
  let cancel: (() => void) | undefined

  async function makeSome(): Promise<void> {
    while (left > 0) {
      left -= 1
      const some = queue.take(1)
      if (some.length === 0) return
      await make(some).catch((error: unknown) => {
        // The worker repeats the call when the lease expires.
        log.warn({ err: error, kind: some[0]?.kind }, 'item of work failed')
      })
    }
  }

  function startGroup(): void {
    cancel = undefined
    beganMs = timers.nowMs()
    left = queue.size()
    const more = Math.min(left, maxTransfers - lanes.size)
    for (let count = 0; count < more; count += 1) {
      const lane = runDetached(makeSome)
      lanes.add(lane)
      void lane.finally(() => lanes.delete(lane))
    }
  }

  return {
    notify() {
      if (cancel !== undefined) return
      const waitMs = beganMs + spacingMs - timers.nowMs()
      if (waitMs <= 0) startGroup()
      else cancel = timers.after(waitMs, startGroup)
    },
    close() {
      cancel?.()
      left = 0
      return Promise.all(lanes)
    },
  }
}
