// What does not go on by itself: calls that the back end does not take, refunds that it does not report.
import type { FastifyInstance } from 'fastify'
import {
  CallKind,
  type FailingCall,
  type WaitingRefund,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import type { Clients } from '../clients.ts'
import type { May } from '../http/shell.ts'
import type { Work, Worker } from '../http/work.ts'
import { amount, code, count, type Form, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money, valueOf, wordOf } from '../pages/words.ts'
import { firstRows, nextPageUrl } from './list.ts'

/** Most rows have a form. */
const pageSize = 25

type Options = { worker: Worker; clients: Clients }

/** Registers `/stuck` and its retries. */
export function registerStuck(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/stuck',
    worker.page((work) => show(work, clients)),
  )
  app.post(
    '/stuck/calls',
    worker.page(async ({ reply, form }) => {
      await clients.paymentOperations.retryCall({
        subjectId: form.get('subject_id') ?? '',
        kind: valueOf(CallKind, form.get('kind')) ?? CallKind.UNSPECIFIED,
      })
      return reply.redirect('/stuck?said=retried', 303)
    }),
  )
}

async function show(work: Work, { paymentOperations }: Clients) {
  const { request, reply, query, may } = work
  const sent = { state: WaitingRefundState.SENT, pageToken: query.get('page') ?? '', pageSize }
  const [failing, refunds] = await Promise.all([
    paymentOperations.listFailingCalls({}),
    paymentOperations.listWaitingRefunds(sent),
  ])
  return sendSections(reply, {
    title: 'Stuck',
    said: query.get('said') === 'retried' ? 'The call is made again now.' : undefined,
    sections: [
      callsSection(failing.calls, may),
      { ...refundsSection(refunds.refunds), ...nextPageUrl(request.url, refunds.nextPageToken) },
    ],
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
