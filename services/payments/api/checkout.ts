// Maps payweave.payments.v1.CheckoutService to the domain and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { channelMethods } from '#core/payment/words.ts'
import type { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { cashCode } from '../domain/links.ts'
import {
  type CheckoutContext,
  type CheckoutView,
  cancelCheckout,
  getCheckout,
  getReceipt,
  openCardFrame,
  payWithWallet,
} from '../operations/checkout.ts'
import { checkoutMessage, paidShareMessage } from './messages.ts'

/**
 * The handlers of CheckoutService. All refuse an unknown link, of a receipt too, with PAYMENT_NOT_FOUND. `payWithWallet` refuses a channel
 * without wallets with INVALID_PARAMETER, and with PAYMENT_NOT_PAYABLE when the attempt certainly did not reach the back end;
 * `openCardFrame` refuses a share that cannot be paid by card now with PAYMENT_NOT_PAYABLE, and rejects with SERVICE_UNAVAILABLE
 * while the back end does not have the charge yet. Both refuse with UNSUPPORTED_CHANNEL_METHOD when its connector has no such
 * operation.
 * `cancelCheckout` refuses with PAYMENT_NOT_CANCELLABLE. The cash code of a pending share whose key was retired is
 * INTERNAL_ERROR.
 */
export function checkoutService(checkouts: CheckoutContext): ServiceImpl<typeof CheckoutService> {
  const message = ({ payment, payer, receipt, refusalReason }: CheckoutView) => {
    const { paymentChannel, paymentMethod } = payer
    // Once nothing can be collected, the page must not depend on the key of the code.
    const isAtAgent = paymentChannel === 'agent' && payer.state === 'Pending'
    const others = channelMethods[paymentChannel].filter((method) => method !== paymentMethod)
    return checkoutMessage(payment, payer, {
      receipt,
      refusalReason,
      allowedMethods: [paymentMethod, ...others],
      cashCode: isAtAgent ? cashCode(checkouts.payments.linkKeys(), payer) : '',
    })
  }
  return {
    async getCheckout({ linkToken }) {
      return { checkout: message(await getCheckout(checkouts, linkToken)) }
    },
    async getReceipt({ receiptToken }) {
      return { share: paidShareMessage(await getReceipt(checkouts, receiptToken)) }
    },
    async payWithWallet({ linkToken, pin }) {
      const { refused, ...view } = await payWithWallet(checkouts, linkToken, pin)
      return { checkout: message(view), refused }
    },
    async openCardFrame({ linkToken, language, theme }) {
      return { frameUrl: await openCardFrame(checkouts, linkToken, { language, theme }) }
    },
    async cancelCheckout({ linkToken }) {
      return { checkout: message(await cancelCheckout(checkouts, linkToken)) }
    },
  }
}
