// Makes the calls of a payment right after its commit, from memory: their tasks are inserted already leased to this process. A
// task that it does not complete is due for the worker when the lease expires.
import { type Loop, startLoop } from '#platform/process/loop.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { BackendCall } from '../domain/backend-call.ts'
import { markLater } from '../store/task-store.ts'
import { type CallOptions, type MakeCalls, maxCharges, maxTransfers, ofKind } from './calls.ts'

/** More than a second of the fastest writers; calls beyond it are left to the worker of tasks. */
const maxWaiting = 5_000
const pauseMs = 1_000
/** Charges are gathered before a call: for each that the last one had, so long. One that comes alone is announced at once. */
const gatherMs = { each: 5, max: 100 }

/** Takes calls whose tasks were committed. */
export type DirectCalls = Pick<Loop, 'close'> & {
  /** Never throws, never waits. */
  call: (calls: BackendCall[]) => void
}

/** Starts the loop of charges and withdrawals, and the lanes of transfers: a rail that hangs holds up no charge. */
export function startDirectCalls(
  { db, log }: Pick<CallOptions, 'db' | 'log'>,
  make: MakeCalls,
): DirectCalls {
  const charges: BackendCall[] = []
  const transfers: BackendCall[] = []
  const lanes = new Set<Promise<void>>()
  let lastCount = 1
  let closing = false

  const loop = startLoop({
    kind: 'charge announcements',
    log,
    pauseMs,
    gatherMs: () => Math.min(gatherMs.max, gatherMs.each * lastCount),
    async round() {
      const some = charges.splice(0, maxCharges)
      lastCount = Math.max(1, some.length)
      await make(some)
      return charges.length > 0
    },
  })

  async function transferSome(): Promise<void> {
    for (let one = transfers.shift(); one !== undefined; one = transfers.shift()) {
      const { kind } = one
      await make([one]).catch((error: unknown) => {
        // The worker repeats the call when the lease expires.
        log.warn({ err: error, kind }, 'item of work failed')
      })
      if (closing) return
    }
  }

  function transfer(call: BackendCall): void {
    transfers.push(call)
    if (lanes.size >= maxTransfers) return
    const lane = runDetached(transferSome)
    lanes.add(lane)
    void lane.finally(() => lanes.delete(lane))
  }

  return {
    call(calls) {
      for (const one of calls) {
        if (charges.length + transfers.length >= maxWaiting) break
        if (one.kind === 'refund' || one.kind === 'payout') transfer(one)
        else charges.push(one)
      }
      if (charges.length > 0) loop.notify()
    },
    async close() {
      closing = true
      await Promise.all([loop.close(), ...lanes])
      // Release them to other workers: waiting for a silent back end would delay the shutdown.
      const byKind = Map.groupBy([...charges, ...transfers], ({ kind }) => kind)
      for (const some of byKind.values()) {
        await markLater(db, ofKind(some)).catch((error: unknown) => {
          // Otherwise other workers claim them when the lease expires.
          log.warn({ err: error, kind: 'calls' }, 'calls left to the task worker')
        })
      }
    },
  }
}
