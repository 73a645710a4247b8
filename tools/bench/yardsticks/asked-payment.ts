// Converts the gateway route's parsed body into the input of payments, without the message in between.
import { checkedWord, paymentChannels, paymentMethods } from '#core/payment/words.ts'
import type { CreatePaymentRequest } from '#gen/payweave/payments/v1/payments_pb.js'
import type { NewPayment } from '../../../services/payments/domain/new-payment.ts'

/** What `read` of POST /payments/request makes of a body. */
export type AskedPayment = Omit<CreatePaymentRequest, 'feeTerms' | 'urls'> & {
  feeTerms: { paysFees: boolean; payerCoversPercent?: number }
  urls: NewPayment['urls']
}

/** The request as payments takes it. */
export function newPayment(asked: AskedPayment, projectId: string, merchantId: string): NewPayment {
  const { paysFees, payerCoversPercent = 100 } = asked.feeTerms
  // Without the name of their message: the rules look at each entry.
  const { success, error, notify, callback } = asked.urls
  return {
    projectId,
    merchantId,
    transactionId: asked.transactionId,
    amountMinor: asked.amountMinor,
    currency: asked.currency,
    description: asked.description,
    fraudCheck: asked.fraudCheck,
    feeTerms: { paysFees, payerCoversPercent },
    payers: asked.payers.map((payer) => ({
      ...payer,
      paymentChannel: checkedWord(paymentChannels, payer.paymentChannel),
      paymentMethod: checkedWord(paymentMethods, payer.paymentMethod),
    })),
    payees: asked.payees,
    urls: { success, error, notify, callback },
    fingerprint: asked.requestFingerprint,
  }
}
