// What does not go on by itself: calls that the back end does not take, and what it does not report: charges, refunds, transfers; quotes that stay held.
import type { FastifyInstance } from 'fastify'
import { type Transaction, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import {
  CallKind,
  type FailingCall,
  type ProcessingAttempt,
  type WaitingRefund,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import type { HeldQuote } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'
import type { Clients } from '../clients.ts'
import { answered, missingSection } from '../http/answered.ts'
import type { May } from '../http/shell.ts'
import { asFile, type Work, type Worker } from '../http/work.ts'
import { amount, code, count, type Form, moneyCell, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money, timeOf, valueOf, wordOf } from '../pages/words.ts'
import { quotePath } from './institution/quotes.ts'
import { chained, firstRows, formId, nextPageUrl, sendCsv } from './list.ts'

/** Rows of each of five sections; those of the first have a form. */
const pageSize = 10
const csvPageSize = 200

type Options = { worker: Worker; clients: Clients }

/** Registers `/stuck`, its file and its retries. */
export function registerStuck(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/stuck',
    worker.page((work) => show(work, clients)),
  )
  app.get(
    '/stuck.csv',
    worker.page((work) => sendCsv(work, 'stuck', csvHead, chained(filesOf(clients))), asFile),
  )
  app.post(
    '/stuck/calls',
    worker.page(async ({ reply, form }) => {
      await clients.paymentOperations.retryCall({
        subjectId: formId(form, 'subject_id'),
        kind: valueOf(CallKind, form.get('kind')) ?? CallKind.UNSPECIFIED,
      })
      return reply.redirect('/stuck?said=retried', 303)
    }),
  )
}

async function show(work: Work, clients: Clients) {
  const { paymentOperations, institution, quotes } = clients
  const { request, reply, query, may } = work
  const page = (name: string) => ({ pageToken: query.get(name) ?? '', pageSize })
  const sent = { state: WaitingRefundState.SENT, ...page('page') }
  const missing: string[] = []
  const part = <T, S>(what: string, calls: () => Promise<T>, shown: (found: T) => S) =>
    answered(missing, what, calls).then((found) => (found === undefined ? [] : [shown(found)]))
  const paged = (section: Section, nextPageToken: string, name?: string) => ({
    ...section,
    ...nextPageUrl(request.url, nextPageToken, name),
  })
  const parts = await Promise.all([
    part(
      'calls to the back end',
      () => paymentOperations.listFailingCalls({}),
      ({ calls }) => callsSection(calls, may),
    ),
    part(
      'payments that are processed',
      () => paymentOperations.listProcessingAttempts(page('attempts')),
      (found) => paged(attemptsSection(found.attempts), found.nextPageToken, 'attempts'),
    ),
    part(
      'refunds',
      () => paymentOperations.listWaitingRefunds(sent),
      (found) => paged(refundsSection(found.refunds), found.nextPageToken),
    ),
    part(
      'transfers',
      () => institution.listWaitingTransactions(page('transfers')),
      (found) => paged(transfersSection(found.transactions), found.nextPageToken, 'transfers'),
    ),
    part(
      'quotes',
      () => quotes.listHeldQuotes(page('quotes')),
      (found) => paged(quotesSection(found.quotes), found.nextPageToken, 'quotes'),
    ),
  ])
  return sendSections(reply, {
    title: 'Stuck',
    said: query.get('said') === 'retried' ? 'The call is made again now.' : undefined,
    sections: [...missingSection(missing), ...parts.flat()],
  })
}

function retryForm({ subjectId, kind }: FailingCall): Form {
  return {
    action: '/stuck/calls',
    button: 'Retry now',
    hidden: { subject_id: subjectId, kind: (CallKind[kind] ?? '').toLowerCase() },
  }
}

function callsSection(calls: FailingCall[], may: May): Section {
  const { rows, cut } = firstRows(calls, pageSize)
  const mayRetry = may('payweave.payments.v1.PaymentOperationsService/RetryCall')
  return {
    heading: 'Calls to the back end',
    facts: [['File of all', { text: 'CSV', href: '/stuck.csv' }]],
    note: `These have failed at least three times. They are repeated for ever, at most a minute apart.${cut}`,
    table: {
      head: ['Due since', 'For', 'Payment', 'Attempts', 'Next', 'Retry'],
      empty: 'The back end takes every call.',
      rows: rows.map((one) => [
        { at: one.createTime },
        text(wordOf(CallKind, one.kind)),
        code(one.paymentId, `/projects/${one.projectId}/payments/${one.paymentId}`),
        count(one.attemptCount),
        { at: one.nextTime },
        mayRetry ? { forms: [retryForm(one)] } : text('operators retry'),
      ]),
    },
    rpc: 'payweave.payments.v1.PaymentOperationsService/ListFailingCalls',
  }
}

function refundsSection(refunds: WaitingRefund[]): Section {
  return {
    heading: 'Refunds without an outcome',
    note: 'The back end has accepted these and not reported on them. After three days ask the provider by the id of the refund.',
    table: {
      head: ['Began', 'Payment', 'Refund', 'Amount'],
      empty: 'Every refund has an outcome.',
      rows: refunds.map((one) => [
        { at: one.createTime },
        code(one.paymentId, `/projects/${one.projectId}/payments/${one.paymentId}`),
        code(one.refundId),
        amount(money(one.amountMinor, one.currency)),
      ]),
    },
    rpc: 'payweave.payments.v1.PaymentOperationsService/ListWaitingRefunds',
  }
}

function attemptsSection(attempts: ProcessingAttempt[]): Section {
  return {
    heading: 'Payments that are processed for too long',
    note: 'The back end has had these attempts of payers for ten minutes and has not reported an outcome. It is asked for each again and again.',
    table: {
      head: ['Began', 'Payment', 'Attempt', 'Enquiries', 'Next'],
      empty: 'No payment is processed for more than ten minutes.',
      rows: attempts.map((one) => [
        { at: one.createTime },
        code(one.paymentId, `/projects/${one.projectId}/payments/${one.paymentId}`),
        code(one.attemptId),
        count(one.enquiryCount),
        { at: one.nextEnquiryTime },
      ]),
    },
    rpc: 'payweave.payments.v1.PaymentOperationsService/ListProcessingAttempts',
  }
}

function transfersSection(transfers: Transaction[]): Section {
  return {
    heading: 'Transfers without a decision',
    note: 'Institutions have not decided on these for ten minutes.',
    table: {
      head: ['Created', 'Transfer', 'Type', 'Amount', 'Institution'],
      empty: 'No transfer waits for more than ten minutes.',
      rows: transfers.map((one) => [
        { at: one.createTime },
        code(one.transactionId, `/projects/${one.projectId}/transfers/${one.movementId}`),
        text(wordOf(TransactionType, one.type)),
        moneyCell(one.amount),
        text(one.institutionName),
      ]),
    },
    rpc: 'payweave.institution.v1.InstitutionService/ListWaitingTransactions',
  }
}

function quotesSection(held: HeldQuote[]): Section {
  return {
    heading: 'Held quotes',
    note: 'A movement has reserved these quotes ten minutes ago or earlier and neither used nor released them.',
    table: {
      head: ['Since', 'Quote', 'Amount', 'Quoted', 'Institution', 'Movement'],
      empty: 'No quote is held for more than ten minutes.',
      rows: held.map(({ quote, movementId, reserveTime }) => [
        { at: reserveTime },
        quote === undefined ? text('') : code(quote.quoteId, quotePath(quote)),
        moneyCell(quote?.requested),
        moneyCell(quote?.quoted),
        text(quote?.institutionName ?? ''),
        code(movementId, `/projects/${quote?.projectId ?? ''}/transfers/${movementId}`),
      ]),
    },
    rpc: 'payweave.quotes.v1.QuotesService/ListHeldQuotes',
  }
}

const csvHead = ['what', 'since', 'id', 'project_id', 'payment_id', 'amount', 'attempts', 'next']

const inFile = (pageToken: string) => ({ pageToken, pageSize: csvPageSize })

/** The pages of each of the lists, as lines of one file. */
function filesOf({ paymentOperations, institution, quotes }: Clients) {
  return [
    async () => {
      const { calls } = await paymentOperations.listFailingCalls({})
      return { rows: calls.map(callCells), nextPageToken: '' }
    },
    async (token: string) => {
      const page = await paymentOperations.listProcessingAttempts(inFile(token))
      return { rows: page.attempts.map(attemptCells), nextPageToken: page.nextPageToken }
    },
    async (token: string) => {
      const sent = { state: WaitingRefundState.SENT, ...inFile(token) }
      const page = await paymentOperations.listWaitingRefunds(sent)
      return { rows: page.refunds.map(refundCells), nextPageToken: page.nextPageToken }
    },
    async (token: string) => {
      const page = await institution.listWaitingTransactions(inFile(token))
      return { rows: page.transactions.map(transferCells), nextPageToken: page.nextPageToken }
    },
    async (token: string) => {
      const page = await quotes.listHeldQuotes(inFile(token))
      return { rows: page.quotes.map(quoteCells), nextPageToken: page.nextPageToken }
    },
  ]
}

const isoOf = (time: Parameters<typeof timeOf>[0]) => timeOf(time)?.iso ?? ''

function callCells({ kind, subjectId, projectId, paymentId, ...one }: FailingCall): string[] {
  const what = `call: ${wordOf(CallKind, kind)}`
  const times = [String(one.attemptCount), isoOf(one.nextTime)]
  return [what, isoOf(one.createTime), subjectId, projectId, paymentId, '', ...times]
}

function attemptCells({ attemptId, projectId, paymentId, ...one }: ProcessingAttempt): string[] {
  const times = [String(one.enquiryCount), isoOf(one.nextEnquiryTime)]
  return ['payment', isoOf(one.createTime), attemptId, projectId, paymentId, '', ...times]
}

function refundCells({ refundId, projectId, paymentId, ...one }: WaitingRefund): string[] {
  const shown = money(one.amountMinor, one.currency)
  return ['refund', isoOf(one.createTime), refundId, projectId, paymentId, shown, '', '']
}

function transferCells({
  movementId,
  projectId,
  createTime,
  amount: moved,
}: Transaction): string[] {
  return ['transfer', isoOf(createTime), movementId, projectId, '', moneyText(moved), '', '']
}

function quoteCells({ quote, reserveTime }: HeldQuote): string[] {
  const { quoteId = '', projectId = '', requested } = quote ?? {}
  return ['quote', isoOf(reserveTime), quoteId, projectId, '', moneyText(requested), '', '']
}

function moneyText(value: Money | undefined): string {
  return value === undefined ? '' : money(value.minorUnits, value.currency)
}
