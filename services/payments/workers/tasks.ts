// Claims tasks that are due: calls to the back end that failed, or whose process ended before it made them.
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Task } from '../domain/transition.ts'
import { claimTasks, readCalls } from '../store/task-store.ts'
import { type CallOptions, type MakeCalls, maxCharges } from './calls.ts'

const chargeKinds: readonly Task['kind'][] = ['announce', 'withdraw']
const allKinds: readonly Task['kind'][] = [...chargeKinds, 'refund', 'payout']

/**
 * Starts the worker. Every replica runs it; each skips tasks that another has claimed. Refunds and payouts run concurrently with
 * the rounds, so that charges are still announced and withdrawn while a payment rail hangs.
 */
export function startTasks(
  { db, log }: Pick<CallOptions, 'db' | 'log'>,
  make: MakeCalls,
): Pick<Loop, 'close'> {
  let transfers: Promise<void> | undefined

  const loop = startLoop({
    kind: 'tasks',
    log,
    pauseMs: 200,
    idlePauseMs: 1_000,
    async round() {
      const kinds = transfers === undefined ? allKinds : chargeKinds
      const tasks = await claimTasks(db, kinds, maxCharges)
      const calls = await readCalls(db, tasks)
      const count = tasks.length - calls.length
      if (count > 0) log.error({ kind: 'tasks', count }, 'tasks without content')
      const isChargeCall = ({ kind }: { kind: Task['kind'] }) => chargeKinds.includes(kind)
      if (!calls.every(isChargeCall))
        transfers = transferAll(calls.filter((one) => !isChargeCall(one)))
      await make(calls.filter(isChargeCall))
      return tasks.length === maxCharges
    },
  })

  async function transferAll(calls: Parameters<MakeCalls>[0]): Promise<void> {
    try {
      await make(calls)
    } catch (error) {
      log.warn({ err: error, kind: 'transfer' }, 'round of work failed')
    } finally {
      transfers = undefined
      loop.notify()
    }
  }

  return {
    async close() {
      await loop.close()
      await transfers
    },
  }
}
