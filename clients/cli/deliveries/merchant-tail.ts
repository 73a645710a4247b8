// `events tail` by the public API, with the keys of a merchant alone: reads the newest pushes again and again.
import { setTimeout as delay } from 'node:timers/promises'
import { type Delivery, type DeliverySummary, PayweaveError } from '../../sdk-typescript/index.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'
import { printable } from '../output/print.ts'
import { openTable, type Table } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'

const lookAgainMs = 1_000
/** So many of the newest pushes are followed; more that are new since the last look are read too, up to a limit. */
const followed = 100
const maxNew = 1_000
const maxS = 86_400

/** By push, the number of its last attempt that was shown, or that ended before the tail began. */
type Shown = Map<string, number>

/**
 * Shows the attempts of the newest pushes as they end. Rejects with a UsageError as `merchantOf` throws it, and with a PayweaveError that is
 * no passing one.
 */
export async function tailOwn(context: CommandContext): Promise<void> {
  const { options, stopping, warn } = context
  const { kind } = options
  if (kind !== undefined && kind !== 'notify' && kind !== 'callback') {
    throw new UsageError('--kind must be notify or callback: onboarding pushes need a bearer')
  }
  const forS = options['for'] === undefined ? maxS : wholeNumber(options['for'], 'for', maxS)
  const untilMs = performance.now() + forS * 1_000
  const { deliveries } = merchantOf(context)
  const table = openTable(context, [
    'TIME'.padEnd(24),
    'DELIVERY'.padEnd(36),
    'EVENT'.padEnd(20),
    'STATUS'.padEnd(9),
    'RECEIVER',
    'ATTEMPT',
    'OUTCOME',
  ])

  async function newest(known: Shown | undefined): Promise<DeliverySummary[]> {
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

  async function look(known: Shown): Promise<Shown> {
    const now: Shown = new Map()
    for (const push of (await newest(known)).toReversed()) {
      const id = push.delivery_id
      let last = known.get(id) ?? 0
      if (push.attempts > last && (kind === undefined || kind === push.kind)) {
        last = show(context, table, await deliveries.get(id, signalOf(context)), last)
      }
      now.set(id, last)
    }
    return now
  }

  try {
    let shown: Shown = new Map(
      (await newest(undefined)).map(({ delivery_id, attempts }) => [delivery_id, attempts]),
    )
    warn('tailing')
    while (performance.now() < untilMs) {
      await delay(lookAgainMs, undefined, signalOf(context))
      shown = await look(shown).catch((error: unknown) => {
        if (!isPassing(error)) throw error
        warn('the API did not answer: changes come later')
        return shown
      })
    }
  } catch (error) {
    if (!stopping.aborted) throw error
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof PayweaveError && (error.status === 0 || error.status >= 500)
}

/** Prints the attempts after `last` that have ended; returns the number of the last one that was shown. */
function show({ json, print }: CommandContext, table: Table, push: Delivery, last: number): number {
  const { attempts, body: _, ...about } = push
  let shown = last
  for (const attempt of attempts.toSorted((one, other) => one.number - other.number)) {
    const { number, time, http_status: status, error } = attempt
    if (number <= shown) continue
    // It is under way.
    if (status === null && error === null) break
    shown = number
    if (json) print(JSON.stringify({ ...about, attempt }))
    else {
      const { delivery_id: id, event_type: type, url } = push
      table.row([time, id, type, push.status, printable(url), String(number), error ?? `${status}`])
    }
  }
  return shown
}
