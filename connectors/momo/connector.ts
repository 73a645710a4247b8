// The connector of MTN MoMo: wallets by request to pay, payouts and refunds by transfer, on the kit.
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { payoutHandlers } from '../kit/api/payments.ts'
import type { Connector } from '../kit/connector.ts'
import { chargeService } from './api/charges.ts'
import type { MomoAccount } from './operations/account.ts'
import { readCallback } from './operations/callback.ts'
import { collect, collectKind } from './operations/collect.ts'
import { transfer, transferKind } from './operations/transfer.ts'

/** The connector of one account. */
export function momoConnector(account: MomoAccount): Connector {
  return {
    routes(router, context) {
      router.service(ChargeService, chargeService(context))
      router.service(PayoutService, payoutHandlers(context, transferKind))
    },
    hints: { path: '/webhooks/momo', read: readCallback },
    workers: {
      [collectKind]: (work, context) => collect(work, context, account),
      [transferKind]: (work, context) => transfer(work, context, account),
    },
  }
}
