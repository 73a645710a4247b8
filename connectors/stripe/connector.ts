// The connector of Stripe: cards by PaymentIntents in a hosted card form, and refunds, on the kit.
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { refundHandlers } from '../kit/api/payments.ts'
import type { Connector } from '../kit/connector.ts'
import { chargeService } from './api/charges.ts'
import { cardPages } from './http/card-page.ts'
import type { StripeAccount } from './operations/account.ts'
import { collect, collectKind } from './operations/collect.ts'
import { handleEvent, readEvent } from './operations/events.ts'
import { refund, refundKind } from './operations/refund.ts'
import { isSignedByStripe } from './ports/stripe.ts'

/** The connector of one account; Stripe signs its webhooks with one of the secrets. */
export function stripeConnector(
  account: StripeAccount,
  webhookSecrets: readonly string[],
): Connector {
  return {
    routes(router, context) {
      router.service(ChargeService, chargeService(context, account))
      router.service(PayoutService, refundHandlers(context, refundKind))
    },
    webhooks: {
      path: '/webhooks/stripe',
      signature: {
        header: 'stripe-signature',
        secrets: webhookSecrets,
        toleranceS: 300,
        verify: isSignedByStripe,
      },
      read: readEvent,
      handle: (work, context) => handleEvent(work, context, account),
    },
    report: {
      source: 'balance transactions of Stripe',
      read: (from, to) => account.stripe.movements(from, to),
    },
    pages: (app, context) => cardPages(app, context, account),
    workers: {
      [collectKind]: (work, context) => collect(work, context, account),
      [refundKind]: (work, context) => refund(work, context, account),
    },
  }
}
