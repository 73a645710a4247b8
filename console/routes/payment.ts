// One payment: amounts, payers, payees, and what may be done with it.
import type { FastifyInstance } from 'fastify'
import {
  FraudCheckStatus,
  type Payee,
  type Payer,
  PayerState,
  type Payment,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
  PayoutState,
} from '#gen/payments/v1/payments_pb.js'
import type { Clients } from '../clients.ts'
import { type ProjectWork, pathId, type Worker } from '../http/work.ts'
import { sendPage } from '../pages/render.ts'
import { money, wordOf } from '../pages/words.ts'

/** Registers `/projects/<id>/payments/<id>` and its actions. */
export function registerPayment(
  app: FastifyInstance,
  { worker, clients }: { worker: Worker; clients: Clients },
): void {
  const path = '/projects/:projectId/payments/:paymentId'
  app.get(
    path,
    worker.projectPage((work) => show(work, clients)),
  )
  app.post(
    `${path}/cancel`,
    worker.projectPage(async (work) => {
      await clients.payments.cancelPayment(idsOf(work))
      return work.reply.redirect(`${pathOf(work)}?said=cancelled`, 303)
    }),
  )
  app.post(
    `${path}/refund`,
    worker.projectPage(async (work) => {
      await clients.payments.refundPayment(idsOf(work))
      return work.reply.redirect(`${pathOf(work)}?said=refunded`, 303)
    }),
  )
}

function idsOf(work: ProjectWork) {
  return { projectId: work.project.projectId, ...pathId(work, 'paymentId') }
}

function pathOf(work: ProjectWork): string {
  const { projectId, paymentId } = idsOf(work)
  return `/projects/${projectId}/payments/${paymentId}`
}

const said: Record<string, string> = {
  cancelled: 'The payment request is cancelled.',
  refunded:
    'The payment is refunded. The payers get their money back as soon as the back end has moved it.',
}

async function show(work: ProjectWork, { payments }: Clients) {
  const { reply, query, may } = work
  const { payment } = await payments.getPayment(idsOf(work))
  if (payment === undefined) throw new Error('an answer without its payment')
  const { currency, state, fees } = payment
  return sendPage(reply, 'payment', {
    title: `Payment ${payment.transactionId}`,
    self: pathOf(work),
    said: said[query.get('said') ?? ''],
    payment: {
      ...payment,
      amount: money(payment.amountMinor, currency),
      state: wordOf(PaymentState, state),
      fraudCheck: wordOf(FraudCheckStatus, payment.fraudCheckStatus),
      fees: money(fees?.totalMinor ?? 0n, currency),
    },
    payers: payment.payers.map((payer) => shownPayer(payment, payer)),
    payees: payment.payees.map((payee) => shownPayee(payment, payee)),
    pushesUrl: `/projects/${payment.projectId}/pushes?subject=${payment.paymentId}`,
    mayCancel: state === PaymentState.PENDING && may('payments.v1.PaymentsService/CancelPayment'),
    mayRefund: state === PaymentState.PAID && may('payments.v1.PaymentsService/RefundPayment'),
  })
}

function shownPayer({ currency }: Payment, payer: Payer) {
  return {
    ...payer,
    name: `${payer.firstName} ${payer.lastName}`.trim(),
    amount: money(payer.amountMinor, currency),
    fee: money(payer.feeMinor, currency),
    channel: wordOf(PaymentChannel, payer.paymentChannel),
    method: wordOf(PaymentMethod, payer.paymentMethod),
    state: wordOf(PayerState, payer.state),
  }
}

function shownPayee({ currency }: Payment, payee: Payee) {
  return {
    ...payee,
    amount: money(payee.amountMinor, currency),
    fee: money(payee.feeMinor, currency),
    state: wordOf(PayoutState, payee.payoutState),
  }
}
