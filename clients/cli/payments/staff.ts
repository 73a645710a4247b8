// The commands on payment requests by RPC, with a bearer: those of any merchant of a project.

import { isUuid } from '#core/identity/id.ts'
import { formatAmount } from '#core/money/money.ts'
import { RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import {
  PayerState,
  type Payment,
  PaymentChannel,
  PaymentEventType,
  type PaymentHistoryEvent,
  PaymentHistoryEventSchema,
  PaymentMethod,
  PaymentSchema,
  PaymentState,
  type PaymentSummary,
  PaymentSummarySchema,
  PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { oneOperand } from '../access.ts'
import type { CommandContext } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { createdTimes } from '../operations/list-command.ts'
import { kindOfState } from '../output/paint.ts'
import { jsonLine, printable, time, valueOf, wordOf } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'

const maxPageSize = 100

/** `payments list` with a bearer. Rejects with a UsageError as `connect` does, and with the Failure of the RPC. */
export async function listPayments(context: CommandContext): Promise<void> {
  const { options } = context
  const merchantId = merchantOf(context)
  if (merchantId === '')
    throw new UsageError('--merchant is missing: with a bearer, name the merchant to list')
  const wanted = {
    merchantId,
    transactionId: options['transaction-id'] ?? '',
    mobileNumberE164: options['mobile-number'] ?? '',
    state: valueOf(PaymentState, options['status'], 'status'),
    ...createdTimes(context),
  }
  const limit = wholeNumber(options['limit'] ?? '25', 'limit', 1_000_000)
  await withPayments(context, async ({ payments, projectId }) => {
    const pages = pagesOf(limit, async (size, pageToken) => {
      const pageSize = Math.min(size, maxPageSize)
      const page = await payments.listPayments({ ...wanted, projectId, pageSize, pageToken })
      return { items: page.payments, nextPageToken: page.nextPageToken }
    })
    await printList(context, paymentShape, pages)
  })
}

/** `payments show` with a bearer. Rejects as `listPayments` does. */
export async function showPayment(context: CommandContext): Promise<void> {
  const paymentId = paymentIdOf(context)
  const merchantId = merchantOf(context)
  await withPayments(context, async (reader) => {
    const payment = await readPayment(reader, merchantId, paymentId)
    const events = await readEvents(reader, payment)
    if (context.json) {
      const shown = JSON.parse(jsonLine(PaymentSchema, payment)) as object
      const listed = events.map((one): unknown =>
        JSON.parse(jsonLine(PaymentHistoryEventSchema, one)),
      )
      context.print(JSON.stringify({ ...shown, events: listed }))
      return
    }
    printPayment(context, payment)
    context.print('')
    await printList(context, eventShape(payment.currency), [events])
  })
}

/** `payments events` with a bearer. Rejects as `listPayments` does. */
export async function eventsOfPayment(context: CommandContext): Promise<void> {
  const paymentId = paymentIdOf(context)
  const merchantId = merchantOf(context)
  await withPayments(context, async (reader) => {
    const payment = await readPayment(reader, merchantId, paymentId)
    await printList(context, eventShape(payment.currency), [await readEvents(reader, payment)])
  })
}

type Reader = { payments: ReturnType<typeof clientOf>; projectId: string }

function clientOf(connection: Connection) {
  return connection.client(PaymentsService)
}

async function withPayments(
  { options, env }: CommandContext,
  work: (reader: Reader) => Promise<void>,
): Promise<void> {
  const connection = connect(options, env, 'payments')
  try {
    await work({ payments: clientOf(connection), projectId: await connection.projectId() })
  } finally {
    await connection.close()
  }
}

/** The merchant that must own the payment; empty for any of the project. */
function merchantOf({ options }: CommandContext): string {
  const { merchant = '' } = options
  if (merchant === '' || isUuid(merchant)) return merchant
  throw new UsageError('--merchant must be a UUID: "merchant list" has it')
}

function paymentIdOf(context: CommandContext): string {
  const id = oneOperand(context, 'payment details id')
  if (isUuid(id)) return id
  throw new UsageError('name the payment by its UUID')
}

/** Reads a payment, without the tokens of its payers' pages: who has one can open the page. */
async function readPayment(
  { payments, projectId }: Reader,
  merchantId: string,
  paymentId: string,
): Promise<Payment> {
  const { payment } = await payments.getPayment({ projectId, merchantId, paymentId })
  if (payment === undefined) throw new Error('the answer is empty')
  for (const payer of payment.payers) payer.linkToken = ''
  return payment
}

async function readEvents({ payments, projectId }: Reader, { merchantId, paymentId }: Payment) {
  return (await payments.listPaymentEvents({ projectId, merchantId, paymentId })).events
}

const paymentShape: ListShape<PaymentSummary> = {
  headings: ['CREATED', 'PAYMENT', 'STATUS', 'AMOUNT', 'PAID', 'TRANSACTION'],
  cells: ({ currency, ...payment }) => [
    time(payment.createTime),
    payment.paymentId,
    wordOf(PaymentState, payment.state),
    `${formatAmount(payment.amountMinor, currency)} ${currency}`,
    formatAmount(payment.paidMinor, currency),
    printable(payment.transactionId),
  ],
  json: (payment) => jsonLine(PaymentSummarySchema, payment),
  none: 'no payments',
}

function eventShape(currency: string): ListShape<PaymentHistoryEvent> {
  return {
    headings: ['TIME', 'EVENT', 'PARTY', 'AMOUNT', 'DETAILS'],
    cells: (event) => [
      time(event.time),
      wordOf(PaymentEventType, event.type),
      printable(event.party.value ?? '-'),
      `${formatAmount(event.amountMinor, currency)} ${currency}`,
      printable(detailsOf(event)),
    ],
    json: (event) => jsonLine(PaymentHistoryEventSchema, event),
    none: 'no events',
  }
}

function detailsOf({ attemptId, reason, refusalReason, releaseTime }: PaymentHistoryEvent): string {
  return [
    attemptId === '' ? '' : `attempt ${attemptId}`,
    refusalReason === RefusalReason.UNSPECIFIED ? '' : wordOf(RefusalReason, refusalReason),
    releaseTime === undefined ? '' : `release ${time(releaseTime)}`,
    reason,
  ]
    .filter((words) => words !== '')
    .join('  ')
}

function printPayment({ print, paint }: CommandContext, payment: Payment): void {
  const { currency, payers } = payment
  const amountOf = (minor: bigint) => `${formatAmount(minor, currency)} ${currency}`
  const state = wordOf(PaymentState, payment.state)
  print(`payment      ${payment.paymentId}`)
  print(`transaction  ${printable(payment.transactionId)}`)
  print(`merchant     ${payment.merchantId}`)
  print(`status       ${paint(kindOfState(state), state)}`)
  print(`amount       ${amountOf(payment.amountMinor)}`)
  print(`created      ${time(payment.createTime)}`)
  print(`updated      ${time(payment.updateTime)}`)
  print(`expires      ${time(payment.expireTime)}`)
  for (const payer of payers) {
    const of = wordOf(PayerState, payer.state)
    const means = [
      wordOf(PaymentChannel, payer.paymentChannel),
      wordOf(PaymentMethod, payer.paymentMethod),
    ]
    const words = [printable(payer.mobileNumber), paint(kindOfState(of), of), ...means]
    print(`payer        ${[...words, amountOf(payer.amountMinor)].join('  ')}`)
  }
}
