// The commands on bill payments: the queue of those that need a manual decision, and receipts.
import fs from 'node:fs'
import { formatAmount } from '#core/money/money.ts'
import type { Approval } from '#gen/payweave/approvals/v1/approvals_pb.js'
import {
  BillingService,
  type BillPayment,
  BillPaymentSchema,
  BillPaymentState,
} from '#gen/payweave/billing/v1/billing_pb.js'
import { type ReviewItem, ReviewItemSchema } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { oneOperand } from '../access.ts'
import { hasMerchantKeys, merchantKeyOptions, merchantOptions } from '../api/merchant.ts'
import { type Command, type CommandContext, optionsFor } from '../command.ts'
import { connect } from '../connection.ts'
import { isOfId } from '../operations/list-command.ts'
import { jsonLine, printable, time, wordOf } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { printApproval } from './approvals.ts'
import { withCatalogue } from './catalogue.ts'
import { showBill, showReceipt } from './merchant-bills.ts'

const billingOptions = optionsFor('billing')
const projectOption = { project: 'UUID, or a name in sandbox.json (demo)' } as const

/** The commands of `bill`. */
export const billCommands: Command[] = [
  {
    name: 'bill show',
    operands: '<transaction id>',
    summary: 'Shows the outcome of a bill payment, by the public API.',
    options: merchantOptions,
    run: showBill,
  },
  {
    name: 'bill reviews',
    operands: '',
    summary: 'Lists the payments that wait for a person, oldest first.',
    options: {
      ...billingOptions,
      id: 'UUID under which the back end knows a payment',
      limit: 'maximum number (50)',
    },
    run: reviews,
  },
  {
    name: 'bill resolve',
    operands: '<transaction id>',
    summary:
      'Requests a decision about a payment that waits for a person, or restarts its enquiries.',
    options: {
      ...projectOption,
      ...billingOptions,
      'failed-with': 'the biller does not have the money: failure code to show to the client',
      note: 'who decided and on what evidence; kept in the audit',
    },
    flags: {
      paid: 'the biller has the money',
      again: 'enquire again, from the beginning of the schedule',
    },
    run: resolve,
  },
  {
    name: 'bill receipt',
    operands: '<transaction id>',
    summary:
      'Writes the receipt of a payment as PDF and prints its link, which opens without a key. With the keys of a merchant it shows the receipt.',
    options: {
      ...merchantKeyOptions,
      ...projectOption,
      ...billingOptions,
      out: 'file to write; it must not exist yet',
    },
    run: (context) => (hasMerchantKeys(context) ? ownReceipt(context) : receipt(context)),
  },
]

function reviews(context: CommandContext): Promise<void> {
  const limit = wholeNumber(context.options['limit'] ?? '50', 'limit', 1_000_000)
  const billPaymentId = context.options['id'] ?? ''
  return withCatalogue(context, async (_, catalogue) => {
    const pages = pagesOf(limit, async (pageSize, pageToken) => {
      const page = await catalogue.listReviews({ billPaymentId, pageSize, pageToken })
      const items = page.items.filter(isOfId(context, (item) => item.billPaymentId))
      return { ...page, items }
    })
    await printList(context, reviewShape, pages)
  })
}

async function resolve(context: CommandContext): Promise<void> {
  const { options } = context
  const transactionId = oneOperand(context, 'transaction id')
  const decision = decisionOf(context)
  const { note } = options
  if (note === undefined) throw new UsageError('--note is missing')
  const connection = connect(options, context.env, 'billing')
  try {
    const projectId = await connection.projectId()
    await withCatalogue(context, async (_, catalogue) => {
      const request = { projectId, transactionId, decision, note }
      const { payment, approval } = await catalogue.resolveReview(request)
      if (approval !== undefined) await printRequested(context, approval)
      else if (payment !== undefined) await printList(context, billShape, [[payment]])
    })
  } finally {
    await connection.close()
  }
}

async function printRequested(context: CommandContext, approval: Approval): Promise<void> {
  await printApproval(context, approval)
  if (context.json) return
  const { approvalId, projectId } = approval
  context.print(
    `a second person approves it: payweave approval approve ${approvalId} --project ${projectId} --bills`,
  )
}

function decisionOf({ flags, options }: CommandContext) {
  const failedWith = options['failed-with']
  const said = [flags.has('paid'), flags.has('again'), failedWith !== undefined]
  if (said.filter(Boolean).length !== 1) {
    throw new UsageError('pass one of --paid, --failed-with and --again')
  }
  if (failedWith !== undefined) return { case: 'failedWith' as const, value: failedWith }
  return { case: flags.has('paid') ? ('paid' as const) : ('enquireAgain' as const), value: true }
}

async function ownReceipt(context: CommandContext): Promise<void> {
  if (context.options['out'] !== undefined) {
    throw new UsageError('--out needs a bearer (--token): the public API has no PDF of a receipt')
  }
  await showReceipt(context)
}

async function receipt(context: CommandContext): Promise<void> {
  const { options, print } = context
  const transactionId = oneOperand(context, 'transaction id')
  const { out } = options
  if (out === undefined) throw new UsageError('--out is missing')
  const connection = connect(options, context.env, 'billing')
  try {
    const projectId = await connection.projectId()
    const billing = connection.client(BillingService)
    const { pdf, url } = await billing.printReceipt({ projectId, transactionId })
    fs.writeFileSync(out, pdf, { flag: 'wx', mode: 0o600 })
    print(context.json ? JSON.stringify({ file: out, url }) : url)
  } finally {
    await connection.close()
  }
}

const billHeadings = ['TRANSACTION', 'STATE', 'AMOUNT', 'PRODUCT', 'REFERENCE'] as const

const billShape: ListShape<BillPayment> = {
  headings: [...billHeadings, 'FAILURE', 'RECEIPT'],
  cells: (bill) => [...billCells(bill), bill.failureCode, bill.receiptId],
  json: (bill) => jsonLine(BillPaymentSchema, bill),
  none: 'no bill payments',
}

const reviewShape: ListShape<ReviewItem> = {
  headings: ['SINCE', ...billHeadings, 'PROJECT', 'AT THE BACK END', 'ENQUIRIES'],
  cells: ({ sinceTime, payment, projectId, billPaymentId, enquiries }) => [
    time(sinceTime),
    ...(payment === undefined ? billHeadings.map(() => '-') : billCells(payment)),
    projectId,
    billPaymentId,
    String(enquiries),
  ],
  json: (item) => jsonLine(ReviewItemSchema, item),
  none: 'no payments wait for a person',
}

function billCells(bill: BillPayment): string[] {
  const { amount } = bill
  return [
    bill.transactionId,
    wordOf(BillPaymentState, bill.state),
    amount === undefined
      ? '-'
      : `${formatAmount(amount.minorUnits, amount.currency)} ${amount.currency}`,
    `${bill.billerCode}/${bill.productCode}`,
    printable(bill.customerReference),
  ]
}
