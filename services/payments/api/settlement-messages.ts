// Maps settlements to the messages of payweave.payments.v1.

import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type SettlementSchema,
  SettlementKind as WireKind,
} from '#gen/payweave/payments/v1/settlement_pb.js'
import type { SettledPayment } from '../domain/payment.ts'
import type { Settlement, SettlementKind } from '../domain/transition.ts'
import { timestampOf } from './messages.ts'

const wireKinds = {
  payer_receipt: WireKind.PAYER_RECEIPT,
  late_receipt: WireKind.LATE_RECEIPT,
  duplicate_receipt: WireKind.DUPLICATE_RECEIPT,
  fee: WireKind.FEE,
  merchant_fee: WireKind.MERCHANT_FEE,
  fee_returned: WireKind.FEE_RETURNED,
  merchant_fee_returned: WireKind.MERCHANT_FEE_RETURNED,
  refund: WireKind.REFUND,
  refund_returned: WireKind.REFUND_RETURNED,
  payout: WireKind.PAYOUT,
  payout_returned: WireKind.PAYOUT_RETURNED,
  payout_recovery: WireKind.PAYOUT_RECOVERY,
} as const satisfies Record<SettlementKind, WireKind>

/** A movement of money as a message, in minor units: the same in events and in lists. */
export function settlementMessage(
  settlement: Settlement,
  payment: SettledPayment,
  createTime: Date,
): MessageInitShape<typeof SettlementSchema> {
  const { reversesKind } = settlement
  return {
    settlementId: settlement.settlementId,
    projectId: payment.projectId,
    paymentId: payment.paymentId,
    merchantId: payment.merchantId,
    transactionId: payment.transactionId,
    kind: wireKinds[settlement.kind],
    payerId: settlement.payerId ?? '',
    payeeId: settlement.payeeId ?? '',
    attemptId: settlement.attemptId ?? '',
    reversesId: settlement.reversesId ?? '',
    reversesKind: reversesKind === undefined ? WireKind.UNSPECIFIED : wireKinds[reversesKind],
    amountMinor: settlement.amountMinor,
    currency: payment.currency,
    createTime: timestampOf(createTime),
  }
}
