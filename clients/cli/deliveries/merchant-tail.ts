// `events tail` by the public API, with the keys of a merchant alone.
import type { Delivery } from '../../sdk-typescript/index.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'
import { printable } from '../output/print.ts'
import { openTable, type Table } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { followAsMerchant } from './follow.ts'

const maxS = 86_400

/** Shows the attempts of the newest pushes as they end. Rejects as `followAsMerchant` does. */
export async function tailAsMerchant(context: CommandContext): Promise<void> {
  const { options } = context
  const { kind } = options
  if (kind !== undefined && kind !== 'notify' && kind !== 'callback') {
    throw new UsageError('--kind must be notify or callback: onboarding pushes need a bearer')
  }
  const forS = options['for'] === undefined ? maxS : wholeNumber(options['for'], 'for', maxS)
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
  await followAsMerchant(context, {
    startMessage: 'tailing',
    forMs: forS * 1_000,
    async handle(push, last = 0) {
      if (push.attempts === last || (kind !== undefined && kind !== push.kind)) return last
      return show(context, table, await deliveries.get(push.delivery_id, signalOf(context)), last)
    },
  })
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
