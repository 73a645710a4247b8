// Follows the pushes of a merchant by the public API: reads the newest ones again and again.
import { setTimeout as delay } from 'node:timers/promises'
import { type DeliverySummary, PayweaveError } from '../../sdk-typescript/index.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'

const readAgainMs = 1_000
/** So many of the newest pushes are followed; more that are new since the last read are read too, up to a limit. */
const maxFollowed = 100
const maxNew = 1_000

/** What is done with pushes. */
export type Follower = {
  /** Printed when the first read is done: from then on no push is missed. */
  startMessage: string
  /**
   * Called for each push that is new or has had an attempt since the last read. `last` is what the call before resolved to, the number
   * of attempts at the first read, or undefined for a new push. Resolves to the number of the last attempt that was handled.
   */
  handle(push: DeliverySummary, last: number | undefined): Promise<number>
  /** True once no more pushes are wanted. */
  isDone?(): boolean
  /** Milliseconds after which it ends. */
  forMs?: number
}

/** By push, the number of its last attempt that was handled. */
type Known = Map<string, number>

/**
 * Follows the pushes until the command is stopped, its time is over or the follower is done. Rejects with a UsageError as `merchantOf`
 * throws it, and with a PayweaveError that is not transient.
 */
export async function followAsMerchant(context: CommandContext, follower: Follower): Promise<void> {
  const { stopping, warn } = context
  const { startMessage, handle, isDone = () => false, forMs = Number.POSITIVE_INFINITY } = follower
  const untilMs = performance.now() + forMs
  const { deliveries } = merchantOf(context)

  async function newest(known: Known | undefined): Promise<DeliverySummary[]> {
    const found: DeliverySummary[] = []
    for await (const push of deliveries.list({ limit: maxFollowed }, signalOf(context))) {
      found.push(push)
      if (known === undefined && found.length === maxFollowed) break
      if (found.length >= maxFollowed && known?.has(push.delivery_id)) break
      if (found.length < maxNew) continue
      warn(`some changes are not shown: more than ${maxNew} new pushes since the last read`)
      break
    }
    return found
  }

  async function handleAll(known: Known): Promise<Known> {
    const now: Known = new Map()
    for (const push of (await newest(known)).toReversed()) {
      if (isDone()) break
      const last = known.get(push.delivery_id)
      const isChanged = last === undefined || push.attempts > last
      const handled = isChanged ? await handle(push, last) : last
      // Kept at once: if a later push fails, the next read does not handle this one twice.
      known.set(push.delivery_id, handled)
      now.set(push.delivery_id, handled)
    }
    return now
  }

  try {
    let known: Known = new Map(
      (await newest(undefined)).map(({ delivery_id, attempts }) => [delivery_id, attempts]),
    )
    warn(startMessage)
    while (!isDone() && performance.now() < untilMs) {
      await delay(readAgainMs, undefined, signalOf(context))
      known = await handleAll(known).catch((error: unknown) => {
        if (!isTransient(error)) throw error
        warn('the API did not respond: trying again')
        return known
      })
    }
  } catch (error) {
    if (!stopping.aborted) throw error
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof PayweaveError && (error.status === 0 || error.status >= 500)
}
