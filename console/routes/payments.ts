// The payments of a project's merchants: a list with filters, and the same as a CSV file.
import type { FastifyInstance } from 'fastify'
import { formatAmount } from '#core/money/money.ts'
import { PaymentState, type PaymentSummary } from '#gen/payweave/payments/v1/payments_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../http/work.ts'
import { amount, chosen, row, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money, timeOf, valueOf, wordOf } from '../pages/words.ts'
import {
  nextPageUrl,
  readAmount,
  readNumber,
  sendCsv,
  timeFields,
  timesIn,
  withFilters,
} from './list.ts'
import { merchantField, merchantOf, merchantsOf } from './merchants.ts'

const rpc = 'payweave.payments.v1.PaymentsService/ListPayments'
const csvPageSize = 100

/** Registers `/projects/<id>/payments` and its file. */
export function registerPayments(
  app: FastifyInstance,
  { worker, clients }: { worker: Worker; clients: Clients },
): void {
  const path = '/projects/:projectId/payments'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => sendFile(work, clients), asFile),
  )
}

/** What the query asks for. Throws INVALID_PARAMETER for a value that no payment can have. */
function filterOf({ query, project: { projectId } }: ProjectWork) {
  return {
    projectId,
    transactionId: query.get('transaction') ?? '',
    mobileNumberE164: readNumber('mobile', query.get('mobile')),
    state: valueOf(PaymentState, query.get('state')) ?? PaymentState.UNSPECIFIED,
    ...readAmount(query),
    ...timesIn(query),
  }
}

async function sendList(work: ProjectWork, clients: Clients) {
  const { request, reply, project, query } = work
  const { projectId } = project
  const base = `/projects/${projectId}/payments`
  const merchants = await merchantsOf(work, clients)
  const merchant = await merchantOf(work, clients, merchants, query.get('merchant'))
  const listed =
    merchant === undefined
      ? { payments: [], nextPageToken: '' }
      : await clients.payments.listPayments({
          ...filterOf(work),
          merchantId: merchant.merchantId,
          pageToken: query.get('page') ?? '',
        })
  return sendSections(reply, {
    title: `Payments of ${project.name}`,
    sections: [
      {
        filters: {
          fields: [
            merchantField(merchants, merchant),
            chosen('State', 'state', PaymentState, query),
            field('Your id', 'transaction', query, 64),
            field('Payer’s number', 'mobile', query, 32),
            field('Amount', 'amount', query, 20),
            field('Its currency', 'currency', query, 3),
            ...timeFields(query),
          ],
          links: [{ label: 'CSV', href: withFilters(`${base}.csv`, request.url) }],
        },
        table: {
          head: ['Your id', 'Amount', 'Paid', 'State', 'Description', 'Created', 'Changed'],
          empty:
            merchant === undefined
              ? 'This project has no merchant yet. Create one with: payweave merchant create <name>'
              : 'No payment matches. POST /payments/request creates one; another filter may show more.',
          rows: listed.payments.map((one) => [
            row(one.transactionId, `${base}/${one.paymentId}`),
            amount(money(one.amountMinor, one.currency)),
            amount(money(one.paidMinor, one.currency)),
            { state: wordOf(PaymentState, one.state) },
            text(one.description),
            { at: one.createTime },
            { at: one.updateTime },
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc,
      },
    ],
  })
}

function field(label: string, name: string, query: URLSearchParams, maxlength?: number) {
  return { label, name, value: query.get(name) ?? '', maxlength }
}

const head = [
  'payment_id',
  'transaction_id',
  'amount',
  'paid',
  'currency',
  'state',
  'description',
  'created',
  'changed',
]

async function sendFile(work: ProjectWork, clients: Clients) {
  const merchants = await merchantsOf(work, clients)
  const merchant = await merchantOf(work, clients, merchants, work.query.get('merchant'))
  const filter = { ...filterOf(work), pageSize: csvPageSize }
  return sendCsv(work, 'payments', head, async (pageToken) => {
    if (merchant === undefined) return { rows: [], nextPageToken: '' }
    const { merchantId } = merchant
    const page = await clients.payments.listPayments({ ...filter, merchantId, pageToken })
    return { rows: page.payments.map(cellsOf), nextPageToken: page.nextPageToken }
  })
}

function cellsOf(one: PaymentSummary): string[] {
  return [
    one.paymentId,
    one.transactionId,
    formatAmount(one.amountMinor, one.currency),
    formatAmount(one.paidMinor, one.currency),
    one.currency,
    wordOf(PaymentState, one.state),
    one.description,
    timeOf(one.createTime)?.iso ?? '',
    timeOf(one.updateTime)?.iso ?? '',
  ]
}
