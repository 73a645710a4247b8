// The commands on payment requests of a merchant, by the public API: they need the merchant's keys alone.
import type { EndedPayment, PaymentFilter, PaymentSummary } from '../sdk-typescript/index.ts'
import { oneOperand } from './access.ts'
import { merchantOf, merchantOptions, signalOf } from './api/merchant.ts'
import type { Command, CommandContext } from './command.ts'
import { kindOfState } from './output/paint.ts'
import { printable } from './output/print.ts'
import { type ListShape, openTable, printList } from './output/table.ts'
import { wholeNumber } from './parser/whole-number.ts'

const id = '<payment details id>'

/** The commands of `payments`. */
export const paymentCommands: Command[] = [
  {
    name: 'payments list',
    operands: '',
    summary: 'Lists payment requests of the merchant, newest first.',
    options: {
      ...merchantOptions,
      'transaction-id': 'your own id of the request',
      'mobile-number': 'number of a payer',
      status: 'Pending, Partially_paid, paid, Cancelled, Expired, Failed or Refunded',
      'created-from': 'created at this time or later, "YYYY-MM-DD HH:mm:ss" in UTC',
      'created-to': 'created before this time',
      limit: 'maximum number (25)',
    },
    run: list,
  },
  {
    name: 'payments show',
    operands: id,
    summary: 'Shows a payment request with its payers and what happened to it.',
    options: merchantOptions,
    run: show,
  },
  {
    name: 'payments cancel',
    operands: id,
    summary: 'Cancels a payment request that nobody has paid or is paying.',
    options: merchantOptions,
    run: async (context) => {
      const payment = await merchantOf(context).payments.cancel(idOf(context), signalOf(context))
      printEnded(context, payment)
    },
  },
  {
    name: 'payments refund',
    operands: id,
    summary: 'Refunds a paid payment request in full.',
    options: { ...merchantOptions, reason: 'why, at most 200 characters' },
    run: async (context) => {
      const { reason } = context.options
      const { payments } = merchantOf(context)
      printEnded(context, await payments.refund(idOf(context), reason, signalOf(context)))
    },
  },
]

async function list(context: CommandContext): Promise<void> {
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

async function show(context: CommandContext): Promise<void> {
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
  openTable(context, ['TIME', 'EVENT', 'DETAILS']).rows(
    events.map(({ time, type, details: more }) => [time, type, printable(JSON.stringify(more))]),
  )
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
