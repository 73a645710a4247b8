// Calls to the back end that wait in memory. Their tasks are leased to this process.
import type { Timers } from '#platform/process/loop.ts'
import { defaultTimeoutMs } from '#platform/rpc/client/client.ts'
import type { BackendCall } from '../domain/backend-call.ts'
import { taskLeaseMs } from '../store/task-store.ts'
import { endAfterMs } from './ended-tasks.ts'

/** Maximum of calls in a queue: more than a process writes in a second. The task worker makes further calls. */
export const maxWaiting = 5_000
/** Maximum wait of a call in memory. The task of one that began later could be open when its lease expires, so it is left to the worker. */
const maxAgeMs = taskLeaseMs - defaultTimeoutMs - endAfterMs

/** Calls in the order in which they came. */
export type CallQueue = {
  push(call: BackendCall): void
  /** Takes the first calls, without those that waited for too long. */
  take(count: number): BackendCall[]
  size(): number
}

/** Makes an empty queue. */
export function createQueue({ nowMs }: Pick<Timers, 'nowMs'>): CallQueue {
  const waiting: { call: BackendCall; untilMs: number }[] = []
  return {
    push(call) {
      if (waiting.length < maxWaiting) waiting.push({ call, untilMs: nowMs() + maxAgeMs })
    },
    take(count) {
      const first = waiting.findIndex(({ untilMs }) => untilMs > nowMs())
      waiting.splice(0, first === -1 ? waiting.length : first)
      return waiting.splice(0, count).map(({ call }) => call)
    },
    size: () => waiting.length,
  }
}
