// Makes the calls of a payment right after its commit, from memory: their tasks are inserted already leased to this process. A
// task that it does not complete is due for the worker when the lease expires.
import { type Loop, startLoop, systemTimers, type Timers } from '#platform/process/loop.ts'
import { defaultTimeoutMs } from '#platform/rpc/client/client.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { BackendCall } from '../domain/backend-call.ts'
import { markLater, taskLeaseMs } from '../store/task-store.ts'
import { type CallOptions, type MakeCalls, maxCharges, maxTransfers, ofKind } from './calls.ts'

/** Of charges and of transfers: more than a second of the fastest writers. Calls beyond it are left to the worker of tasks. */
const maxWaiting = 5_000
/** A call that begins later could still run when the lease expires, and the worker makes it then. */
const maxAgeMs = taskLeaseMs - defaultTimeoutMs
const pauseMs = 1_000
/** Charges are gathered before a call: for each that the last one had, so long. One that comes alone is announced at once. */
const gatherMs = { each: 5, max: 100 }

/** Takes calls whose tasks were committed. */
export type DirectCalls = Pick<Loop, 'close'> & {
  /** Never throws, never waits. */
  call: (calls: BackendCall[]) => void
}

/** Calls of which the tasks are leased to this process. */
type Queue = { push(call: BackendCall): void; take(count: number): BackendCall[]; size(): number }

function createQueue({ nowMs }: Pick<Timers, 'nowMs'>): Queue {
  const held: { call: BackendCall; untilMs: number }[] = []
  return {
    push(call) {
      if (held.length < maxWaiting) held.push({ call, untilMs: nowMs() + maxAgeMs })
    },
    take(count) {
      const first = held.findIndex(({ untilMs }) => untilMs > nowMs())
      held.splice(0, first === -1 ? held.length : first)
      return held.splice(0, count).map(({ call }) => call)
    },
    size: () => held.length,
  }
}

/** Starts the loop of charges and withdrawals, and the lanes of transfers: a rail that hangs holds up no charge. */
export function startDirectCalls(
  { db, log, timers = systemTimers }: Pick<CallOptions, 'db' | 'log'> & { timers?: Timers },
  make: MakeCalls,
): DirectCalls {
  const charges = createQueue(timers)
  const transfers = createQueue(timers)
  const lanes = new Set<Promise<void>>()
  let lastCount = 1
  let closing = false

  const loop = startLoop({
    kind: 'charge announcements',
    log,
    pauseMs,
    gatherMs: () => Math.min(gatherMs.max, gatherMs.each * lastCount),
    async round() {
      const some = charges.take(maxCharges)
      lastCount = Math.max(1, some.length)
      await make(some)
      return charges.size() > 0
    },
  })

  async function transferAll(): Promise<void> {
    for (let some = transfers.take(1); some.length > 0; some = transfers.take(1)) {
      await make(some).catch((error: unknown) => {
        // The worker repeats the call when the lease expires.
        log.warn({ err: error, kind: some[0]?.kind }, 'item of work failed')
      })
    }
  }

  function transfer(call: BackendCall): void {
    transfers.push(call)
    if (lanes.size >= maxTransfers) return
    const lane = runDetached(transferAll)
    lanes.add(lane)
    void lane.finally(() => lanes.delete(lane))
  }

  /** Ends the leases of calls, so that other processes make them soon. */
  async function release(calls: BackendCall[]): Promise<void> {
    for (const some of Map.groupBy(calls, ({ kind }) => kind).values()) {
      await markLater(db, ofKind(some), 'unclear').catch((error: unknown) => {
        // Otherwise other workers claim them when the lease expires.
        log.warn({ err: error, kind: 'calls' }, 'calls left to the task worker')
      })
    }
  }

  return {
    call(calls) {
      if (closing) {
        void release(calls)
        return
      }
      for (const one of calls) {
        if (one.kind === 'refund' || one.kind === 'payout') transfer(one)
        else charges.push(one)
      }
      if (charges.size() > 0) loop.notify()
    },
    async close() {
      closing = true
      const looped = loop.close()
      // Before it waits for calls that a silent back end may hold for longer than a stop may take.
      await release([...charges.take(maxWaiting), ...transfers.take(maxWaiting)])
      await Promise.all([looped, ...lanes])
    },
  }
}
