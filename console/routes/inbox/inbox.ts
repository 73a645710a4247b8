// Everything that waits for a person of the staff, oldest first: new customers, bills, failed refunds, money in suspense.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import type { ProjectBalance } from '#gen/payweave/accounts/v1/balances_pb.js'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import type {
  ListOnboardingsResponse,
  Onboarding,
} from '#gen/payweave/accounts/v1/onboarding_pb.js'
import type { ReviewItem } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { type WaitingRefund, WaitingRefundState } from '#gen/payweave/payments/v1/operations_pb.js'
import type { Clients } from '../../clients.ts'
import type { Work, Worker } from '../../http/work.ts'
import {
  amount,
  type Cell,
  code,
  type Field,
  type Form,
  row,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { money } from '../../pages/words.ts'
import { firstRows, nextPageUrl } from '../list.ts'
import { decideClaimed, readClaims, type ShowClaim, saidOfClaims } from './claims.ts'

/** Rows of a section: the page has several, and most rows have a form. */
const pageSize = 8

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
      const review = {
        projectId: form.get('project_id') ?? '',
        transactionId: form.get('transaction_id') ?? '',
        decision: decisionOf(form),
        note: form.get('note')?.trim() ?? '',
      }
      await decideClaimed(clients, 'bill', form.get('item_id') ?? '', () =>
        clients.catalogue.resolveReview(review),
      )
      return reply.redirect('/inbox?said=decided', 303)
    }),
  )
  app.post(
    '/inbox/refunds',
    worker.page(async ({ reply, form }) => {
      const refundId = form.get('refund_id') ?? ''
      const note = form.get('note')?.trim() ?? ''
      await decideClaimed(clients, 'refund', refundId, () =>
        clients.paymentOperations.settleRefund({ refundId, note }),
      )
      return reply.redirect('/inbox?said=settled', 303)
    }),
  )
}

const said: Record<string, string> = {
  ...saidOfClaims,
  decided: 'The decision is stored.',
  accepted: 'The profile is accepted: its account is available.',
  rejected: 'The profile is rejected.',
  accepted_instead: 'The profile was accepted before; that decision stands.',
  rejected_instead:
    'The profile is rejected: an account has its number, or another decision came before.',
  settled: 'The refund is off the list. The ledger keeps its amount under refunds_unpaid.',
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
  const { catalogue, paymentOperations, balances } = clients
  const { request, reply, query } = work
  const failed = {
    state: WaitingRefundState.FAILED,
    pageToken: query.get('refunds') ?? '',
    pageSize,
  }
  const [onboardings, reviews, refunds, suspense] = await Promise.all([
    listOnboardings(work, clients),
    catalogue.listReviews({ pageToken: query.get('page') ?? '', pageSize }),
    paymentOperations.listWaitingRefunds(failed),
    balances.listOpenBalances({ internal: InternalAccount.SUSPENSE }),
  ])
  const shown = firstRows(suspense.balances, pageSize)
  const claim = await readClaims(work, clients, [
    ...(onboardings?.onboardings ?? []).map(({ reviewId }) => ['onboarding', reviewId] as const),
    ...reviews.items.map(({ billPaymentId }) => ['bill', billPaymentId] as const),
    ...refunds.refunds.map(({ refundId }) => ['refund', refundId] as const),
    ...shown.rows.map(({ projectId }) => ['suspense', projectId] as const),
  ])
  return sendSections(reply, {
    title: 'Inbox',
    said: said[query.get('said') ?? ''],
    sections: [
      ...(onboardings === undefined ? [] : [onboardingsSection(work, onboardings, claim)]),
      { ...billsSection(reviews.items, claim), ...nextPageUrl(request.url, reviews.nextPageToken) },
      {
        ...refundsSection(refunds.refunds, claim),
        ...nextPageUrl(request.url, refunds.nextPageToken, 'refunds'),
      },
      suspenseSection(shown, claim),
    ],
  })
}

/** New customers, for those who may see them. */
async function listOnboardings({ query, may }: Work, { onboardings }: Clients) {
  if (!may('payweave.accounts.v1.OnboardingService/ListOnboardings')) return undefined
  return await onboardings.listOnboardings({ pageToken: query.get('onboardings') ?? '', pageSize })
}

function onboardingsSection(
  { request, may }: Work,
  { onboardings, nextPageToken }: ListOnboardingsResponse,
  claim: ShowClaim,
): Section {
  const mayOpen = may('payweave.accounts.v1.OnboardingService/GetOnboarding')
  return {
    heading: 'Onboarding',
    note: 'Profiles of new customers on which the back end has not decided. Their pages take the decision.',
    table: {
      head: [
        'Since',
        'Profile',
        'Name',
        'Number',
        'Institution',
        'Project',
        'Number is',
        'Claimed by',
      ],
      empty: 'No profile waits for a decision.',
      rows: onboardings.map((one) => onboardingRow(one, mayOpen, claim)),
    },
    ...nextPageUrl(request.url, nextPageToken, 'onboardings'),
    rpc: 'payweave.accounts.v1.OnboardingService/ListOnboardings',
  }
}

function onboardingRow(one: Onboarding, mayOpen: boolean, claim: ShowClaim): Cell[] {
  const path = `/inbox/onboardings/${one.reviewId}`
  return [
    { at: one.createTime },
    mayOpen ? row(one.reviewId, path) : code(one.reviewId),
    text(`${one.firstName} ${one.lastName}`),
    text(one.mobileNumber),
    text(one.institutionName),
    code(one.projectId),
    { state: one.numberTaken ? 'taken' : 'free' },
    // Its page has the decision, and who may claim it.
    claim('onboarding', one.reviewId, [])[0],
  ]
}

function settleForm(refundId: string): Form {
  return {
    action: '/inbox/refunds',
    button: 'Paid by hand',
    hidden: { refund_id: refundId },
    fields: [{ label: 'How', name: 'note', maxlength: 2_000, isRequired: true }],
  }
}

function refundsSection(refunds: WaitingRefund[], claim: ShowClaim): Section {
  return {
    heading: 'Failed refunds',
    note: 'The back end refused these for good. Pay the payer through the provider, then say how.',
    table: {
      head: ['Began', 'Refused', 'Payment', 'Refund', 'Amount', 'Claimed by', 'Settle'],
      empty: 'No refund has failed.',
      rows: refunds.map((one) => [
        { at: one.createTime },
        { at: one.endTime },
        code(one.paymentId, `/projects/${one.projectId}/payments/${one.paymentId}`),
        code(one.refundId),
        amount(money(one.amountMinor, one.currency)),
        ...claim('refund', one.refundId, [settleForm(one.refundId)]),
      ]),
    },
    rpc: 'payweave.payments.v1.PaymentOperationsService/ListWaitingRefunds',
  }
}

function suspenseSection(
  { rows, cut }: { rows: ProjectBalance[]; cut: string },
  claim: ShowClaim,
): Section {
  return {
    heading: 'Suspense',
    note: `Money that came without a claim on it: it is refunded by itself. What stays for days needs the provider’s statement.${cut}`,
    table: {
      head: ['Project', 'Amount', 'Claimed by', 'Claim'],
      empty: 'No money is in suspense.',
      rows: rows.map(({ projectId, posted }) => [
        code(projectId, `/projects/${projectId}/balances`),
        amount(money(posted?.minorUnits ?? 0n, posted?.currency ?? '')),
        ...claim('suspense', projectId, []),
      ]),
    },
    rpc: 'payweave.accounts.v1.BalanceService/ListOpenBalances',
  }
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

function billsSection(items: ReviewItem[], claim: ShowClaim): Section {
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
        'Claimed by',
        'Decide',
      ],
      empty: 'No bill waits for a person.',
      rows: items.map((item) => billRow(item, claim)),
    },
    rpc: 'payweave.billing.v1.CatalogueService/ListReviews',
  }
}

function billRow({ payment, ...item }: ReviewItem, claim: ShowClaim): Cell[] {
  const { amount: paid, transactionId = '', billerCode, productCode } = payment ?? {}
  const form: Form = {
    action: '/inbox/bills',
    button: 'Decide',
    hidden: {
      project_id: item.projectId,
      transaction_id: transactionId,
      item_id: item.billPaymentId,
    },
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
    ...claim('bill', item.billPaymentId, [form]),
  ]
}
