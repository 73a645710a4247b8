// Maps payweave.payments.v1.PaymentsService to the domain and back.
import { toJson } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { fingerprint } from '#core/identity/digest.ts'
import { checkedWord, paymentChannels, paymentMethods } from '#core/payment/words.ts'
import { ApprovalKind } from '#gen/payweave/approvals/v1/approvals_pb.js'
import {
  type CreatePaymentRequest,
  CreatePaymentRequestSchema,
  type PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { approvalMessage } from '#platform/approvals/approval-service.ts'
import { isByHand } from '#platform/approvals/approvals.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { mayCall } from '#platform/rpc/auth/roles.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { linkTokenOf } from '../domain/links.ts'
import type { NewPayment } from '../domain/new-payment.ts'
import type { Payment } from '../domain/payment.ts'
import { listMerchantPayments, listPaymentEvents } from '../operations/history.ts'
import {
  cancelPayment,
  createPayment,
  getPayment,
  type PaymentContext,
  type PaymentKey,
  refundPayment,
} from '../operations/payments.ts'
import { refundByHand } from '../operations/refund-approval.ts'
import { readCounts } from '../store/summary-store.ts'
import { countsMessage, historyMessage, listingOf, summaryMessage } from './history-messages.ts'
import { paymentMessage, type TokenOf } from './messages.ts'

/** Maximum number of open payments counted for each state, because counting reads their rows. */
const maxOpen = 10_000

/**
 * The handlers of PaymentsService. All reject as `projectOf` and a Queryable do. `createPayment` refuses bad content
 * with INVALID_PARAMETER, MISSING_PARAMETER, UNSUPPORTED_CHANNEL_METHOD or AMOUNT_MISMATCH, an id that was used with
 * other content with DUPLICATE_TRANSACTION_ID, and an unknown merchant with PW_INVALID_API_KEY. `listPayments` refuses a
 * bad page token with INVALID_PARAMETER and an amount without its currency with MISSING_PARAMETER. The others refuse an unknown payment with PAYMENT_NOT_FOUND; `cancelPayment`
 * also with PAYMENT_NOT_CANCELLABLE, `refundPayment` with PAYMENT_NOT_REFUNDABLE and, by hand above the limit, with
 * APPROVAL_OPEN when somebody else has requested it.
 */
export function paymentsService(payments: PaymentContext): ServiceImpl<typeof PaymentsService> {
  const tokenOf: TokenOf = (payer) => linkTokenOf(payments.linkKeys(), payer)
  const message = (payment: Payment) =>
    paymentMessage(payment, seesLinks(payment.projectId) ? tokenOf : undefined)
  const answer = (payment: Payment) => ({ payment: message(payment) })
  return {
    async createPayment(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { payment, replayed, linkTokens } = await createPayment(
        payments,
        newPayment(request, projectId),
      )
      const created = paymentMessage(
        payment,
        (payer) => linkTokens.get(payer.payerId) ?? tokenOf(payer),
      )
      return { $typeName: 'payweave.payments.v1.CreatePaymentResponse', payment: created, replayed }
    },
    async getPayment(request, context) {
      const projectId = projectOf(context, request.projectId)
      const payment = await getPayment(payments, paymentKey(request, projectId))
      return { $typeName: 'payweave.payments.v1.GetPaymentResponse', payment: message(payment) }
    },
    async cancelPayment(request, context) {
      const projectId = projectOf(context, request.projectId)
      return answer(await cancelPayment(payments, paymentKey(request, projectId)))
    },
    async refundPayment(request, context) {
      const projectId = projectOf(context, request.projectId)
      const key = paymentKey(request, projectId)
      if (!isByHand()) return answer(await refundPayment(payments, key, request.reason))
      const { payment, approval } = await refundByHand(payments, key, request.reason)
      if (approval === undefined) return answer(payment)
      return { ...answer(payment), approval: approvalMessage(ApprovalKind.REFUND, approval) }
    },
    async listPayments(request, context) {
      const projectId = projectOf(context, request.projectId)
      const listing = listingOf(request, projectId)
      const page = await listMerchantPayments(payments.db, payments.linkKeys(), listing)
      return { ...page, payments: page.payments.map(summaryMessage) }
    },
    async listPaymentEvents({ merchantId, paymentId, ...request }, context) {
      const projectId = projectOf(context, request.projectId)
      const key = { projectId, merchantId, paymentId }
      const { events, currency } = await listPaymentEvents(payments.db, key)
      return { events: events.map(historyMessage), currency }
    },
    async getPaymentSummary({ merchantId, ...request }, context) {
      const projectId = projectOf(context, request.projectId)
      const counts = await readCounts(payments.db, { projectId, merchantId }, maxOpen)
      return countsMessage(counts, maxOpen)
    },
  }
}

/** Whether the caller may have payers' links, where one can cancel: every caller but a person who may not call CancelPayment. */
function seesLinks(projectId: string): boolean {
  const person = currentContext()?.caller?.person
  const cancelling = 'payweave.payments.v1.PaymentsService/CancelPayment'
  return person === undefined || mayCall(person.memberships, cancelling, projectId)
}

function paymentKey(
  { merchantId, paymentId }: { merchantId: string; paymentId: string },
  projectId: string,
): PaymentKey {
  return merchantId === '' ? { projectId, paymentId } : { projectId, merchantId, paymentId }
}

function newPayment(request: CreatePaymentRequest, projectId: string): NewPayment {
  const { feeTerms, urls } = request
  return {
    projectId,
    merchantId: request.merchantId,
    transactionId: request.transactionId,
    amountMinor: request.amountMinor,
    currency: request.currency,
    description: request.description,
    fraudCheck: request.fraudCheck,
    feeTerms: {
      paysFees: feeTerms?.paysFees ?? false,
      payerCoversPercent: feeTerms?.payerCoversPercent ?? 100,
    },
    payers: request.payers.map((payer) => ({
      // As the client wrote the number, for responses; look-ups use the E.164 form.
      mobileNumber: payer.mobileNumber || payer.mobileNumberE164,
      mobileNumberE164: payer.mobileNumberE164,
      firstName: payer.firstName,
      lastName: payer.lastName,
      email: payer.email,
      paymentChannel: checkedWord(paymentChannels, payer.paymentChannel),
      paymentMethod: checkedWord(paymentMethods, payer.paymentMethod),
      amountMinor: payer.amountMinor,
    })),
    payees: request.payees.map((payee) => ({
      mobileNumber: payee.mobileNumber || payee.mobileNumberE164,
      mobileNumberE164: payee.mobileNumberE164,
      amountMinor: payee.amountMinor,
      delayDays: payee.delayDays,
    })),
    urls: {
      success: urls?.success ?? '',
      error: urls?.error ?? '',
      notify: urls?.notify ?? '',
      callback: urls?.callback ?? '',
    },
    // The gateway's fingerprint is of the JSON body; other callers send none, so theirs is of the message.
    fingerprint:
      request.requestFingerprint.length > 0
        ? request.requestFingerprint
        : fingerprint(toJson(CreatePaymentRequestSchema, request)),
  }
}
