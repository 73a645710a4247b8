// Everything that waits for a person of the staff, oldest first: bills in review, refused settlements.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import type { ReviewItem } from '#gen/payweave/billing/v1/catalogue_pb.js'
import type { Clients } from '../clients.ts'
import type { May } from '../http/shell.ts'
import type { Work, Worker } from '../http/work.ts'
import {
  amount,
  type Cell,
  code,
  type Field,
  type Form,
  type Section,
  text,
} from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money } from '../pages/words.ts'
import { nextPageUrl } from './list.ts'

type Options = { worker: Worker; clients: Clients }

/** Registers `/inbox` and its decisions. */
export function registerInbox(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/inbox',
    worker.page((work) => show(work, clients)),
  )
  app.post(
    '/inbox/bills',
    worker.page(async ({ reply, form }) => {
      await clients.catalogue.resolveReview({
        projectId: form.get('project_id') ?? '',
        transactionId: form.get('transaction_id') ?? '',
        decision: decisionOf(form),
        note: form.get('note')?.trim() ?? '',
      })
      return reply.redirect('/inbox?said=decided', 303)
    }),
  )
}

function decisionOf(form: URLSearchParams) {
  const decision = form.get('decision')
  const code = form.get('failed_with')?.trim() ?? ''
  if (form.get('note')?.trim() === '') throw invalid('note', 'must say on what evidence')
  if (decision === 'failed') return { case: 'failedWith' as const, value: code }
  if (code !== '') throw invalid('failed_with', 'is for a payment that failed')
  if (decision === 'paid') return { case: 'paid' as const, value: true }
  if (decision === 'again') return { case: 'enquireAgain' as const, value: true }
  throw invalid('decision', 'must be one of the three')
}

async function show(work: Work, clients: Clients) {
  const { request, reply, query, may } = work
  const reviews = await clients.catalogue.listReviews({ pageToken: query.get('page') ?? '' })
  return sendSections(reply, {
    title: 'Inbox',
    said: query.get('said') === 'decided' ? 'The decision is stored.' : undefined,
    sections: [
      { ...billsSection(reviews.items, may), ...nextPageUrl(request.url, reviews.nextPageToken) },
    ],
  })
}

const decisions: Field[] = [
  {
    label: 'Decision',
    name: 'decision',
    type: 'select',
    isRequired: true,
    options: [
      { value: 'again', label: 'enquire again' },
      { value: 'paid', label: 'the biller has the money' },
      { value: 'failed', label: 'the biller does not have it' },
    ],
  },
  { label: 'Failure code, if it failed', name: 'failed_with', maxlength: 64 },
  { label: 'On what evidence', name: 'note', maxlength: 2_000, isRequired: true },
]

function billsSection(items: ReviewItem[], may: May): Section {
  const mayResolve = may('payweave.billing.v1.CatalogueService/ResolveReview')
  return {
    heading: 'Bills in review',
    note: 'The biller gave no final answer to these bill payments. Ask it by another way, then decide.',
    table: {
      head: [
        'Since',
        'Payment',
        'Project',
        'At the back end',
        'Enquiries',
        'Biller',
        'Amount',
        'Decide',
      ],
      empty: 'No bill waits for a person.',
      rows: items.map((item) => billRow(item, mayResolve)),
    },
    rpc: 'payweave.billing.v1.CatalogueService/ListReviews',
  }
}

function billRow({ payment, ...item }: ReviewItem, mayResolve: boolean): Cell[] {
  const { amount: paid, transactionId = '', billerCode, productCode } = payment ?? {}
  const form: Form = {
    action: '/inbox/bills',
    button: 'Decide',
    hidden: { project_id: item.projectId, transaction_id: transactionId },
    fields: decisions,
  }
  return [
    { at: item.sinceTime },
    code(transactionId),
    code(item.projectId),
    code(item.billPaymentId),
    text(item.enquiries),
    text(`${billerCode}/${productCode}`),
    amount(money(paid?.minorUnits ?? 0n, paid?.currency ?? '')),
    mayResolve ? { forms: [form] } : text('finance decides'),
  ]
}
