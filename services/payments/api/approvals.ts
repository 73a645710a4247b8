// Lets a second person approve refunds above the limit.
import type { ServiceImpl } from '@connectrpc/connect'
import { ApprovalKind, type ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { approvalService } from '#platform/approvals/approval-service.ts'
import type { PaymentContext } from '../operations/payments.ts'
import { executeRefund } from '../operations/refund-approval.ts'

/** The handlers of ApprovalService for refunds. They reject as `approvalService` says; `approve` also with PAYMENT_NOT_REFUNDABLE. */
export function refundApprovalService(
  payments: PaymentContext,
): ServiceImpl<typeof ApprovalService> {
  return approvalService({
    db: payments.db,
    kind: ApprovalKind.REFUND,
    listedWith: PaymentsService.method.listPaymentEvents,
    requestedBy: PaymentsService.method.refundPayment,
    execute: executeRefund(payments),
  })
}
