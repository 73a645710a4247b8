// One payment: amounts, payers, payees, its link, what happened to it, and what may be done with it.

import type { FastifyInstance } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { ApprovalState } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { MerchantDelivery } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import {
  FraudCheckStatus,
  type Payer,
  PayerState,
  type Payment,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
  PayoutState,
} from '#gen/payweave/payments/v1/payments_pb.js'
import type { Clients } from '../clients.ts'
import { answered, missingSection } from '../http/answered.ts'
import { type ProjectWork, pathId, type Worker } from '../http/work.ts'
import {
  amount,
  type Cell,
  code,
  count,
  type Form,
  type Notices,
  noticeOf,
  row,
  type Section,
  text,
} from '../pages/blocks.ts'
import { drawQr } from '../pages/qr.ts'
import { sendPage } from '../pages/render.ts'
import { timelineOf } from '../pages/timeline.ts'
import { money, wordOf } from '../pages/words.ts'
import { approvalNotices, approvalsSection } from './inbox/approvals.ts'
import { ledgerFact } from './ledger-links.ts'
import { nextPageUrl, rowsAt } from './list.ts'

/** Lines of the timeline, and pushes, of a page. */
const shownLines = 60
const shownPushes = 18

type Options = { worker: Worker; clients: Clients; publicBaseUrl: string }

/** Registers `/projects/<id>/payments/<id>` and its actions. */
export function registerPayment(app: FastifyInstance, options: Options): void {
  const { worker, clients } = options
  const path = '/projects/:projectId/payments/:paymentId'
  app.get(
    path,
    worker.projectPage((work) => show(work, options)),
  )
  app.get(
    `${path}/payers/:payerId/qr.svg`,
    worker.projectPage((work) => sendQr(work, options)),
  )
  app.post(
    `${path}/cancel`,
    worker.projectPage(async (work) => {
      await clients.payments.cancelPayment(idsOf(work))
      return work.reply.redirect(`${pathOf(work)}?notice=cancelled`, 303)
    }),
  )
  app.post(
    `${path}/refund`,
    worker.projectPage(async (work) => {
      const reason = work.form.get('reason')?.trim() ?? ''
      const { approval } = await clients.payments.refundPayment({ ...idsOf(work), reason })
      const next = approval === undefined ? 'refunded' : 'requested'
      return work.reply.redirect(`${pathOf(work)}?notice=${next}`, 303)
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

const notices: Notices = {
  ...approvalNotices,
  cancelled: 'The payment request is cancelled.',
  refunded:
    'The payment is refunded. The payers get their money back as soon as the back end has moved it.',
}

async function show(work: ProjectWork, { clients, publicBaseUrl }: Options) {
  const { reply, query } = work
  const ids = idsOf(work)
  const { payment } = await clients.payments.getPayment(ids)
  if (payment === undefined) throw new Error('an answer without its payment')
  const ofMerchant = { ...ids, merchantId: payment.merchantId }
  const missing: string[] = []
  const [history, pushes, approvals] = await Promise.all([
    clients.payments.listPaymentEvents(ofMerchant),
    answered(missing, 'pushes', () => clients.merchantDeliveries.listPaymentPushes(ofMerchant)),
    readApprovals(work, clients, payment),
  ])
  const byTwo = await approvalsSection(work, approvals, 'Refund by two people')
  const waits = approvals.some((one) => one.state === ApprovalState.WAITING)
  const pushesPath = `/projects/${ids.projectId}/pushes?subject=${ids.paymentId}`
  const timeline = timelineOf(
    history,
    pushes?.deliveries ?? [],
    `/projects/${ids.projectId}/pushes`,
  )
  return sendPage(reply, 'payment', {
    title: `Payment ${payment.transactionId}`,
    notice: noticeOf(query, notices),
    amount: money(payment.amountMinor, payment.currency),
    state: wordOf(PaymentState, payment.state),
    before: [
      ...missingSection(missing),
      { ...factsOf(work, payment), forms: waits ? [] : actionsOf(work, payment) },
      ...(approvals.length === 0 ? [] : [byTwo]),
      payersOf(work, payment, publicBaseUrl),
      payeesOf(payment),
    ],
    qr: await qrOf(work, payment, publicBaseUrl),
    timeline: timeline.slice(-shownLines),
    older:
      timeline.length > shownLines
        ? { count: timeline.length - shownLines, href: pushesPath }
        : undefined,
    after: pushes === undefined ? [] : [pushesOf(work, payment, pushes.deliveries)],
  })
}

/** The newest requests for a refund of what could be refunded, for those who may see them. */
async function readApprovals(work: ProjectWork, { refundApprovals }: Clients, payment: Payment) {
  const { projectId, paymentId: subjectId, state } = payment
  const isOver = state !== PaymentState.PAID && state !== PaymentState.REFUNDED
  if (isOver || !work.may('payweave.approvals.v1.ApprovalService/ListApprovals')) return []
  return (await refundApprovals.listApprovals({ projectId, subjectId, pageSize: 5 })).approvals
}

/** Whether the person may have payers' links: a payment can be cancelled through its payer's link. */
function seesLinks({ may }: ProjectWork): boolean {
  return may('payweave.payments.v1.PaymentsService/CancelPayment')
}

/** The payer's link; empty for a payer without one and for people who may not have it. */
function linkOf(work: ProjectWork, { linkToken }: Payer, publicBaseUrl: string): string {
  return linkToken === '' || !seesLinks(work) ? '' : `${publicBaseUrl}/pay/${linkToken}`
}

/** The QR code of the only payer as long as they may pay; with more the page would grow too heavy, and each has a file. */
async function qrOf(
  work: ProjectWork,
  { payers }: Payment,
  publicBaseUrl: string,
): Promise<string | undefined> {
  const [payer] = payers
  if (payer?.state !== PayerState.PENDING || payers.length > 1) return undefined
  const link = linkOf(work, payer, publicBaseUrl)
  return link === '' ? undefined : await drawQr(link)
}

/** The QR code of one payer's link, as a file to open or to print. */
async function sendQr(work: ProjectWork, { clients, publicBaseUrl }: Options) {
  const { payerId } = pathId(work, 'payerId')
  const { payment } = await clients.payments.getPayment(idsOf(work))
  const payer = payment?.payers.find((one) => one.payerId === payerId)
  const link = payer === undefined ? '' : linkOf(work, payer, publicBaseUrl)
  if (link === '') throw new Failure('ENDPOINT_NOT_FOUND', 'There is no payer with a link.')
  return work.reply.type('image/svg+xml').send(await drawQr(link))
}

function factsOf({ may }: ProjectWork, payment: Payment): Section {
  const { currency, fees } = payment
  const facts: [string, Cell][] = [
    ['Your id', text(payment.transactionId)],
    ['Payment id', code(payment.paymentId)],
    ['Description', text(payment.description)],
    ['Fees', text(money(fees?.totalMinor ?? 0n, currency))],
    ['Fraud check', text(wordOf(FraudCheckStatus, payment.fraudCheckStatus))],
    ['Created', { at: payment.createTime }],
    ['Changed', { at: payment.updateTime }],
    ['Expires', { at: payment.expireTime }],
    ['Merchant', code(payment.merchantId)],
    ...ledgerFact(may, payment.projectId, payment.transactionId),
  ]
  return { facts, rpc: 'payweave.payments.v1.PaymentsService/GetPayment' }
}

function payersOf(work: ProjectWork, payment: Payment, publicBaseUrl: string): Section {
  const { currency, payers } = payment
  const isLinked = seesLinks(work)
  const linkCells = (payer: Payer): Cell[] => {
    const link = linkOf(work, payer, publicBaseUrl)
    const href = `${pathOf(work)}/payers/${payer.payerId}/qr.svg`
    return [link === '' ? text('') : { text: 'QR code', href }, code(link)]
  }
  const head = ['Number', 'Name', 'Pays by', 'Amount', 'Fee', 'State']
  return {
    heading: 'Payers',
    note: isLinked
      ? undefined
      : 'A payment can be cancelled through a payer’s link, so links are only for people who may cancel it.',
    table: {
      head: isLinked ? [...head, 'QR', 'Link'] : head,
      empty: 'No payers.',
      rows: payers.map((payer) => [
        text(payer.mobileNumber),
        text(`${payer.firstName} ${payer.lastName}`.trim()),
        text(
          `${wordOf(PaymentChannel, payer.paymentChannel)}, ${wordOf(PaymentMethod, payer.paymentMethod)}`,
        ),
        amount(money(payer.amountMinor, currency)),
        amount(money(payer.feeMinor, currency)),
        { state: wordOf(PayerState, payer.state) },
        ...(isLinked ? linkCells(payer) : []),
      ]),
    },
  }
}

function payeesOf({ currency, payees }: Payment): Section {
  return {
    heading: 'Payees',
    table: {
      head: ['Number', 'Amount', 'Fee', 'Payout', 'Released'],
      empty: 'No payees.',
      rows: payees.map((payee) => [
        text(payee.mobileNumber),
        amount(money(payee.amountMinor, currency)),
        amount(money(payee.feeMinor, currency)),
        { state: wordOf(PayoutState, payee.payoutState) },
        { at: payee.releaseTime },
      ]),
    },
  }
}

function pushesOf(work: ProjectWork, payment: Payment, deliveries: MerchantDelivery[]): Section {
  const base = `/projects/${payment.projectId}/pushes`
  const mayResend = work.may('payweave.delivery.v1.DeliveryService/ReplayDelivery')
  const resend = ({ deliveryId }: MerchantDelivery): Form => ({
    action: `${base}/${deliveryId}/resend`,
    button: 'Resend',
    rpc: 'payweave.delivery.v1.DeliveryService/ReplayDelivery',
    hidden: { request_id: randomId() },
  })
  const { request, query } = work
  const { rows, nextPageToken } = rowsAt(deliveries, query.get('pushes'), shownPushes)
  return {
    heading: 'Pushes',
    table: {
      head: ['Event', 'State', 'Attempts', 'Receiver', 'Created', 'Resend'],
      empty: 'None: the request has neither urls.notify nor urls.callback.',
      rows: rows.map((one) => [
        row(one.eventType, `${base}/${one.deliveryId}`),
        { state: wordOf(DeliveryState, one.state) },
        count(one.attemptCount),
        text(one.url),
        { at: one.createTime },
        mayResend && hasEnded(one) ? { forms: [resend(one)] } : text(''),
      ]),
    },
    ...nextPageUrl(request.url, nextPageToken, 'pushes'),
    rpc: 'payweave.delivery.v1.MerchantDeliveryService/ListPaymentPushes',
  }
}

function hasEnded({ state }: MerchantDelivery): boolean {
  return state !== DeliveryState.PENDING && state !== DeliveryState.SENDING
}

/** What this person may do with the payment as it is. */
function actionsOf(work: ProjectWork, { state, amountMinor, currency }: Payment): Form[] {
  const { may } = work
  const self = pathOf(work)
  const cancel: Form = {
    action: `${self}/cancel`,
    button: 'Cancel the request',
    rpc: 'payweave.payments.v1.PaymentsService/CancelPayment',
    isDangerous: true,
  }
  const refund: Form = {
    action: `${self}/refund`,
    button: `Refund ${money(amountMinor, currency)}`,
    rpc: 'payweave.payments.v1.PaymentsService/RefundPayment',
    isDangerous: true,
    fields: [{ label: 'Reason, for the history', name: 'reason', maxlength: 200 }],
  }
  if (state === PaymentState.PENDING && may('payweave.payments.v1.PaymentsService/CancelPayment')) {
    return [cancel]
  }
  const isRefundable = state === PaymentState.PAID
  return isRefundable && may('payweave.payments.v1.PaymentsService/RefundPayment') ? [refund] : []
}
