// The commands on deliveries by the public API, with the keys of a merchant alone.
import { setTimeout as delay } from 'node:timers/promises'
import type { Delivery, DeliveryFilter, DeliverySummary } from '../../sdk-typescript/index.ts'
import { oneOperand } from '../access.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'
import { kindOfState } from '../output/paint.ts'
import { printable } from '../output/print.ts'
import { type ListShape, openTable, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { refuseFilters } from './one-delivery.ts'

/** Filters that only the public API has. */
export const merchantFilterOptions = {
  'event-type': 'with merchant keys: payment_completed, payment_refunded and so on',
} as const

const deliveryShape: ListShape<DeliverySummary> = {
  headings: ['CREATED', 'DELIVERY', 'EVENT', 'STATUS', 'ATTEMPTS', 'RECEIVER'],
  cells: (push) => [
    push.created_time,
    push.delivery_id,
    push.event_type,
    push.status,
    String(push.attempts),
    printable(push.url),
  ],
  json: (push) => JSON.stringify(push),
  none: 'no deliveries',
}

/** `deliveries list`. Rejects with a UsageError as `merchantOf` throws it, and with a PayweaveError. */
export async function listAsMerchant(context: CommandContext): Promise<void> {
  const count = wholeNumber(context.options['limit'] ?? '50', 'limit', 1_000_000)
  const filter = { ...filterOf(context), limit: Math.min(count, 100) }
  const pages = merchantOf(context).deliveries.list(filter, signalOf(context))
  await printList(context, deliveryShape, [await pages.take(count)])
}

/** `deliveries show`. Rejects as `listAsMerchant` does. */
export async function showAsMerchant(context: CommandContext): Promise<void> {
  const { json, print } = context
  const id = oneOperand(context, 'delivery id')
  const push = await merchantOf(context).deliveries.get(id, signalOf(context))
  if (json) print(JSON.stringify(push))
  else printOne(context, push)
}

/** `deliveries replay`, of one delivery or of all that match. Rejects as `listAsMerchant` does. */
export async function replayAsMerchant(context: CommandContext): Promise<void> {
  const { json, print, operands, options } = context
  const { deliveries } = merchantOf(context)
  if (operands.length > 0) {
    const id = oneOperand(context, 'delivery id')
    refuseFilters(context)
    const { key: idempotencyKey } = options
    const once = idempotencyKey === undefined ? {} : { idempotencyKey }
    const push = await deliveries.resend(id, { ...signalOf(context), ...once })
    if (json) print(JSON.stringify(push))
    else printOne(context, push)
    return
  }
  const rate = wholeNumber(options['rate'] ?? '50', 'rate', 1_000)
  const filter = filterOf(context)
  const states = filter.status === undefined ? (['exhausted', 'blocked'] as const) : [filter.status]
  const progress = context.progress('sent again')
  let count = 0
  try {
    for (const status of states) {
      const pages = deliveries.list({ ...filter, status, limit: 100 }, signalOf(context))
      for await (const push of pages) {
        await deliveries.resend(push.delivery_id, signalOf(context))
        count += 1
        progress.update(count)
        await delay(1_000 / rate, undefined, signalOf(context))
      }
    }
  } finally {
    progress.stop()
    print(json ? JSON.stringify({ sent_again: count }) : `sent again ${count}`)
  }
}

/** The filter of the API. What it does not know as a state or a time, it refuses by name. */
function filterOf({ options }: CommandContext): DeliveryFilter {
  for (const option of ['kind', 'key', 'receiver']) {
    if (options[option] === undefined) continue
    throw new UsageError(`--${option} needs a bearer; with merchant keys use --event-type`)
  }
  const filter = {
    payment_details_id: options['subject'],
    event_type: options['event-type'],
    status: options['state'],
    created_from: options['created-from'],
    created_to: options['created-to'],
  }
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}

function printOne(context: CommandContext, push: Delivery): void {
  const { print, paint } = context
  print(`delivery  ${push.delivery_id}`)
  print(`event     ${push.event_type}  ${push.event_id}`)
  print(`payment   ${push.payment_details_id}`)
  print(`receiver  ${printable(push.url)}`)
  print(`status    ${paint(kindOfState(push.status), push.status)}`)
  print(`created   ${push.created_time}`)
  print(`body      ${printable(push.body)}`)
  const headings = ['ATTEMPT', 'TIME', 'STATUS', 'MS', 'ERROR', 'RESPONSE']
  openTable(context, headings).rows(
    push.attempts.map((attempt) => [
      String(attempt.number),
      attempt.time,
      String(attempt.http_status ?? '-'),
      String(attempt.duration_ms),
      attempt.error ?? '',
      printable(attempt.response),
    ]),
  )
}
