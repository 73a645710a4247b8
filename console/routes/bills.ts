// The bill payments of a project: a list, the same as a CSV file, one with its receipt.
import type { FastifyInstance } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { formatAmount } from '#core/money/money.ts'
import {
  type BillPayment,
  BillPaymentState,
  RetryCategory,
} from '#gen/payweave/billing/v1/billing_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../http/work.ts'
import { amount, type Cell, chosen, code, row, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money, timeOf, valueOf, wordOf } from '../pages/words.ts'
import { ledgerFact } from './ledger-links.ts'
import { nextPageUrl, sendCsv, timeFields, timesIn, withFilters } from './list.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200

/** Registers the pages below `/projects/<id>/bills`. */
export function registerBills(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/bills'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'bills', csvHead, async (pageToken) => {
        const page = await clients.bills.listBillPayments({ ...filter, pageToken })
        return { rows: page.payments.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.get(
    `${path}/:transactionId`,
    worker.projectPage((work) => sendBill(work, clients)),
  )
  app.get(
    `${path}/:transactionId/receipt.pdf`,
    worker.projectPage(async (work) => {
      const { pdf } = await clients.bills.printReceipt(billKeyOf(work))
      return work.reply
        .header('content-security-policy', "default-src 'none'; sandbox")
        .header('content-disposition', 'attachment; filename="receipt.pdf"')
        .type('application/pdf')
        .send(Buffer.from(pdf))
    }),
  )
}

function filterOf({ query, project: { projectId } }: ProjectWork) {
  const state = valueOf(BillPaymentState, query.get('state')) ?? BillPaymentState.UNSPECIFIED
  return { projectId, state, ...timesIn(query) }
}

/** The payment of the path. Throws ENDPOINT_NOT_FOUND for an id that none can have. */
function billKeyOf({ request, project: { projectId } }: ProjectWork) {
  const { transactionId = '' } = request.params as { transactionId?: string }
  if (!/^[\w-]{1,64}$/.test(transactionId)) {
    throw new Failure('ENDPOINT_NOT_FOUND', 'There is no such page.')
  }
  return { projectId, transactionId }
}

async function sendList(work: ProjectWork, { bills }: Clients) {
  const { request, reply, project, query } = work
  const base = `/projects/${project.projectId}/bills`
  const listed = await bills.listBillPayments({
    ...filterOf(work),
    pageToken: query.get('page') ?? '',
  })
  return sendSections(reply, {
    title: `Bill payments of ${project.name}`,
    sections: [
      {
        filters: {
          fields: [chosen('State', 'state', BillPaymentState, query), ...timeFields(query)],
          links: [{ label: 'CSV', href: withFilters(`${base}.csv`, request.url) }],
        },
        table: {
          head: ['Payment', 'Amount', 'State', 'Biller', 'Customer', 'Your reference', 'Created'],
          empty:
            'No bill payment matches. POST /bill_payments/pay makes one; another filter may show more.',
          rows: listed.payments.map((one) => [
            row(one.transactionId, `${base}/${one.transactionId}`),
            amountOf(one),
            stateOf(one),
            text(`${one.billerCode}/${one.productCode}`),
            text(one.customerReference),
            text(one.externalReference ?? ''),
            { at: one.createTime },
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.billing.v1.BillingService/ListBillPayments',
      },
    ],
  })
}

function amountOf({ amount: paid }: BillPayment): Cell {
  return amount(money(paid?.minorUnits ?? 0n, paid?.currency ?? ''))
}

function stateOf({ state }: BillPayment): Cell {
  return { state: wordOf(BillPaymentState, state) }
}

async function sendBill(work: ProjectWork, { bills }: Clients) {
  const { payment } = await bills.getBillPayment(billKeyOf(work))
  if (payment === undefined) throw new Error('an answer without its payment')
  const hasReceipt =
    payment.receiptId !== '' && work.may('payweave.billing.v1.BillingService/PrintReceipt')
  const receipt: Cell = hasReceipt
    ? {
        text: payment.receiptId,
        href: `/projects/${work.project.projectId}/bills/${payment.transactionId}/receipt.pdf`,
      }
    : text(payment.receiptId)
  const failed: [string, Cell][] = [
    ['Failure', code(payment.failureCode)],
    ['Retry', text(wordOf(RetryCategory, payment.retryCategory))],
  ]
  return sendSections(work.reply, {
    title: `Bill payment ${payment.transactionId}`,
    sections: [
      {
        facts: [
          ['State', stateOf(payment)],
          ['Amount', amountOf(payment)],
          ['Biller', code(payment.billerCode)],
          ['Product', code(payment.productCode)],
          ['Customer', text(payment.customerReference)],
          ['Your reference', text(payment.externalReference ?? '')],
          ['Your receipt', text(payment.clientReceiptId ?? '')],
          ['Receipt', receipt],
          ...(payment.failureCode === '' ? [] : failed),
          ['Created', { at: payment.createTime }],
          ['Ended', { at: payment.endTime }],
          ...ledgerFact(work.may, work.project.projectId, payment.transactionId),
        ],
        rpc: 'payweave.billing.v1.BillingService/GetBillPayment',
      },
    ],
  })
}

const csvHead = [
  'transaction_id',
  'amount',
  'currency',
  'state',
  'biller',
  'product',
  'customer',
  'external_reference',
  'receipt_id',
  'failure',
  'created',
  'ended',
]

function csvCells(one: BillPayment): string[] {
  const { minorUnits = 0n, currency = '' } = one.amount ?? {}
  return [
    one.transactionId,
    formatAmount(minorUnits, currency),
    currency,
    wordOf(BillPaymentState, one.state),
    one.billerCode,
    one.productCode,
    one.customerReference,
    one.externalReference ?? '',
    one.receiptId,
    one.failureCode,
    timeOf(one.createTime)?.iso ?? '',
    timeOf(one.endTime)?.iso ?? '',
  ]
}
