// The example connector: wallets of Acme Pay, an invented provider, on the kit.
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { payoutHandlers } from '../kit/api/payments.ts'
import type { Connector } from '../kit/connector.ts'
import { chargeService } from './api/charges.ts'
import { creditKind, sendCredit } from './operations/credit.ts'
import { handleEvent, readEvent } from './operations/events.ts'
import type { Acme } from './ports/acme.ts'

/** The connector of one Acme account; Acme signs its webhooks with one of the secrets. */
export function acmeConnector(acme: Acme, webhookSecrets: readonly string[]): Connector {
  return {
    routes(router, context) {
      router.service(ChargeService, chargeService(context, acme))
      router.service(PayoutService, payoutHandlers(context, creditKind))
    },
    webhooks: {
      path: '/webhooks/acme',
      signature: { header: 'acme-signature', secrets: webhookSecrets, toleranceS: 300 },
      read: readEvent,
      handle: handleEvent,
    },
    workers: {
      [creditKind]: (work, context) => sendCredit(work, context, acme),
    },
  }
}
