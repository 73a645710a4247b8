// Follows the pushes of a merchant by the public API: reads the newest ones again and again.
import { setTimeout as delay } from 'node:timers/promises'
import { type DeliverySummary, PayweaveError } from '../../sdk-typescript/index.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'

const lookAgainMs = 1_000
/** So many of the newest pushes are followed; more that are new since the last look are read too, up to a limit. */
const followed = 100
const maxNew = 1_000

/** What is done with pushes. */
export type Follower = {
  /** Said when the following has begun: from now on no push is missed. */
  begun: string
  /**
   * Called for each push that is new or has had an attempt since the last look. `last` is what the call before resolved to, the number
   * of attempts when the following began, or undefined for a new push. Resolves to the number of the last attempt that was handled.
   */
  look(push: DeliverySummary, last: number | undefined): Promise<number>
  /** True once there is enough. */
  isEnough?(): boolean
  /** Milliseconds after which it ends. */
  forMs?: number
}

/** By push, the number of its last attempt that was handled. */
type Known = Map<string, number>

/**
 * Follows the pushes until the command is stopped, its time is over or there is enough. Rejects with a UsageError as `merchantOf` throws
 * it, and with a PayweaveError that is no passing one.
 */
export async function followOwn(context: CommandContext, follower: Follower): Promise<void> {
  const { stopping, warn } = context
  const { begun, look, isEnough = () => false, forMs = Number.POSITIVE_INFINITY } = follower
  const untilMs = performance.now() + forMs
  const { deliveries } = merchantOf(context)

  async function newest(known: Known | undefined): Promise<DeliverySummary[]> {
    const found: DeliverySummary[] = []
    for await (const push of deliveries.list({ limit: followed }, signalOf(context))) {
      found.push(push)
      if (known === undefined && found.length === followed) break
      if (found.length >= followed && known?.has(push.delivery_id)) break
      if (found.length < maxNew) continue
      warn('changes are missing here: there are more pushes than can be followed')
      break
    }
    return found
  }

  async function lookAtAll(known: Known): Promise<Known> {
    const now: Known = new Map()
    for (const push of (await newest(known)).toReversed()) {
      if (isEnough()) break
      const last = known.get(push.delivery_id)
      const isChanged = last === undefined || push.attempts > last
      const handled = isChanged ? await look(push, last) : last
      // A look that fails later handles no push twice.
      known.set(push.delivery_id, handled)
      now.set(push.delivery_id, handled)
    }
    return now
  }

  try {
    let known: Known = new Map(
      (await newest(undefined)).map(({ delivery_id, attempts }) => [delivery_id, attempts]),
    )
    warn(begun)
    while (!isEnough() && performance.now() < untilMs) {
      await delay(lookAgainMs, undefined, signalOf(context))
      known = await lookAtAll(known).catch((error: unknown) => {
        if (!isPassing(error)) throw error
        warn('the API did not answer: changes come later')
        return known
      })
    }
  } catch (error) {
    if (!stopping.aborted) throw error
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof PayweaveError && (error.status === 0 || error.status >= 500)
}
