// The commands on payment requests of a merchant, by the public API: they need the merchant's keys alone.
import type {
  EndedPayment,
  PaymentEvent,
  PaymentFilter,
  PaymentSummary,
} from '../../sdk-typescript/index.ts'
import { oneOperand } from '../access.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'
import { kindOfState } from '../output/paint.ts'
import { printable } from '../output/print.ts'
import { type ListShape, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'

/** `payments cancel`. Rejects with a UsageError as `merchantOf` throws it, and with a PayweaveError. */
export async function cancelAsMerchant(context: CommandContext): Promise<void> {
  const payment = await merchantOf(context).payments.cancel(idOf(context), signalOf(context))
  printEnded(context, payment)
}

/** `payments refund`. Rejects as `cancelAsMerchant` does. */
export async function refundAsMerchant(context: CommandContext): Promise<void> {
  const { reason } = context.options
  const { payments } = merchantOf(context)
  printEnded(context, await payments.refund(idOf(context), reason, signalOf(context)))
}

/** `payments list`. Rejects as `cancelAsMerchant` does. */
export async function listAsMerchant(context: CommandContext): Promise<void> {
  const { options } = context
  const filter = {
    transaction_id: options['transaction-id'],
    mobile_number: options['mobile-number'],
    status: options['status'],
    created_from: options['created-from'],
    created_to: options['created-to'],
  }
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  const count = wholeNumber(options['limit'] ?? '25', 'limit', 1_000_000)
  const { payments } = merchantOf(context)
  // What the API does not know as a status or a time, it refuses by name.
  const pages = payments.list(
    { ...(Object.fromEntries(given) as PaymentFilter), limit: Math.min(count, 100) },
    signalOf(context),
  )
  await printList(context, paymentShape, [await pages.take(count)])
}

const paymentShape: ListShape<PaymentSummary> = {
  headings: ['CREATED', 'PAYMENT', 'STATUS', 'AMOUNT', 'PAID', 'TRANSACTION'],
  cells: cellsOf,
  json: (payment) => JSON.stringify(payment),
  none: 'no payments',
}

function cellsOf(payment: PaymentSummary): string[] {
  const { created_time: created, payment_details_id: paymentId, status, currency } = payment
  const { amount, paid, transaction_id: transaction } = payment
  return [created, paymentId, status, `${amount} ${currency}`, paid, printable(transaction)]
}

/** `payments show`. Rejects as `cancelAsMerchant` does. */
export async function showAsMerchant(context: CommandContext): Promise<void> {
  const { json, print, paint } = context
  const { payments } = merchantOf(context)
  const payment = await payments.status(idOf(context), signalOf(context))
  const events = await payments.events(idOf(context), signalOf(context))
  const { payment_details: details, payers } = payment
  if (json) {
    print(JSON.stringify({ payment_details: details, payers, events }))
    return
  }
  for (const line of detailLines(context, details)) print(line)
  for (const { mobile_number: number, payment_channel: channel, ...payer } of payers) {
    const state = paint(kindOfState(payer.status), payer.status)
    const words = [printable(number), state, channel, payer.payment_method]
    print(`payer        ${words.join('  ')}`)
  }
  print('')
  await printList(context, eventShape, [events])
}

/** `payments events`. Rejects as `cancelAsMerchant` does. */
export async function eventsAsMerchant(context: CommandContext): Promise<void> {
  const { payments } = merchantOf(context)
  const events = await payments.events(idOf(context), signalOf(context))
  await printList(context, eventShape, [events])
}

const eventShape: ListShape<PaymentEvent> = {
  headings: ['TIME', 'EVENT', 'DETAILS'],
  cells: ({ time, type, details }) => [time, type, printable(JSON.stringify(details))],
  json: (event) => JSON.stringify(event),
  none: 'no events',
}

type Details = Omit<EndedPayment, 'payers'>

function detailLines({ paint }: CommandContext, details: Details): string[] {
  const { id: paymentId, status, amount, currency, ...more } = details
  return [
    `payment      ${paymentId}`,
    `transaction  ${printable(more.transaction_id)}`,
    `status       ${paint(kindOfState(status), status)}`,
    `amount       ${amount} ${currency}`,
    `paid         ${more.payments_status.paid}`,
    `created      ${more.timestamps.created_time}`,
    `updated      ${more.timestamps.updated_time}`,
    `expires      ${more.timestamps.expire_time}`,
  ]
}

function printEnded(context: CommandContext, payment: EndedPayment): void {
  const { json, print } = context
  if (json) print(JSON.stringify(payment))
  else for (const line of detailLines(context, payment)) print(line)
}

function idOf(context: CommandContext): string {
  return oneOperand(context, 'payment details id')
}
