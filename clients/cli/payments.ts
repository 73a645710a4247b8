// The commands on payment requests of a merchant, by the public API: they need the merchant's keys alone.
import {
  createPayweave,
  type EndedPayment,
  type PaymentFilter,
  type PaymentSummary,
  type Payweave,
} from '../sdk-typescript/index.ts'
import { oneOperand } from './access.ts'
import { keyOptions, readTarget, targetOptions } from './api/target.ts'
import type { Command, CommandContext } from './command.ts'
import { wholeNumber } from './deliveries.ts'
import { printable, table } from './print.ts'
import { UsageError } from './usage-error.ts'

const connection = {
  ...targetOptions,
  ...keyOptions,
  project: 'project in sandbox.json (demo)',
  country: 'ISO code of the country by which national phone numbers are parsed (US)',
  'ip-address': 'address to send as PW-ip-address (127.0.0.1)',
} as const

const id = '<payment details id>'

/** The commands of `payments`. */
export const paymentCommands: Command[] = [
  {
    name: 'payments list',
    operands: '',
    summary: 'Lists payment requests of the merchant, newest first.',
    options: {
      ...connection,
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
    options: connection,
    run: show,
  },
  {
    name: 'payments cancel',
    operands: id,
    summary: 'Cancels a payment request that nobody has paid or is paying.',
    options: connection,
    run: async (context) => {
      const payment = await merchantOf(context).payments.cancel(idOf(context), signalOf(context))
      printEnded(context, payment)
    },
  },
  {
    name: 'payments refund',
    operands: id,
    summary: 'Refunds a paid payment request in full.',
    options: { ...connection, reason: 'why, at most 200 characters' },
    run: async (context) => {
      const { reason } = context.options
      const { payments } = merchantOf(context)
      printEnded(context, await payments.refund(idOf(context), reason, signalOf(context)))
    },
  },
]

async function list(context: CommandContext): Promise<void> {
  const { options, json, print } = context
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
  const found = await pages.take(count)
  if (json) for (const payment of found) print(JSON.stringify(payment))
  else for (const line of table(headings, found.map(cellsOf), 'no payments')) print(line)
}

const headings = ['CREATED', 'PAYMENT', 'STATUS', 'AMOUNT', 'PAID', 'TRANSACTION']

function cellsOf(payment: PaymentSummary): string[] {
  const { created_time: created, payment_details_id: paymentId, status, currency } = payment
  const { amount, paid, transaction_id: transaction } = payment
  return [created, paymentId, status, `${amount} ${currency}`, paid, printable(transaction)]
}

async function show(context: CommandContext): Promise<void> {
  const { json, print } = context
  const { payments } = merchantOf(context)
  const payment = await payments.status(idOf(context), signalOf(context))
  const events = await payments.events(idOf(context), signalOf(context))
  const { payment_details: details, payers } = payment
  if (json) {
    print(JSON.stringify({ payment_details: details, payers, events }))
    return
  }
  for (const line of detailLines(details)) print(line)
  for (const { mobile_number: number, payment_channel: channel, ...payer } of payers) {
    const words = [printable(number), payer.status, channel, payer.payment_method]
    print(`payer        ${words.join('  ')}`)
  }
  const rows = events.map(({ time, type, details: more }) => [
    time,
    type,
    printable(JSON.stringify(more)),
  ])
  print('')
  for (const line of table(['TIME', 'EVENT', 'DETAILS'], rows, 'no events')) print(line)
}

type Details = Omit<EndedPayment, 'payers'>

function detailLines({ id: paymentId, status, amount, currency, ...more }: Details): string[] {
  return [
    `payment      ${paymentId}`,
    `transaction  ${printable(more.transaction_id)}`,
    `status       ${status}`,
    `amount       ${amount} ${currency}`,
    `paid         ${more.payments_status.paid}`,
    `created      ${more.timestamps.created_time}`,
    `updated      ${more.timestamps.updated_time}`,
    `expires      ${more.timestamps.expire_time}`,
  ]
}

function printEnded({ json, print }: CommandContext, payment: EndedPayment): void {
  if (json) print(JSON.stringify(payment))
  else for (const line of detailLines(payment)) print(line)
}

function merchantOf({ options, env }: CommandContext): Payweave {
  const target = readTarget(options, env)
  const name = options['project'] ?? 'demo'
  const project = target.projects[name as keyof typeof target.projects]
  if (project === undefined) throw new UsageError(`sandbox.json has no project ${name}`)
  const { subscriptionKey, apiKey } = project
  if (apiKey === undefined) throw new UsageError('PAYWEAVE_API_KEY or --api-key is missing')
  return createPayweave({
    baseUrl: target.baseUrl,
    subscriptionKey,
    apiKey,
    originCountry: options['country'] ?? 'US',
    ipAddress: options['ip-address'] ?? '127.0.0.1',
    userAgent: 'payweave-cli',
  })
}

function idOf(context: CommandContext): string {
  return oneOperand(context, 'payment details id')
}

function signalOf({ stopping }: CommandContext): { signal: AbortSignal } {
  return { signal: stopping }
}
