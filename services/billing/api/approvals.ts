// Lets a second person approve what one found out about a bill payment.
import type { ServiceImpl } from '@connectrpc/connect'
import { ApprovalKind, type ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { approvalService } from '#platform/approvals/approval-service.ts'
import { executeResolution } from '../operations/administer.ts'
import type { Billing } from '../operations/pay.ts'

/**
 * The handlers of ApprovalService for bill payments. They reject as `approvalService` says; `approve` also with REVIEW_NOT_FOUND and
 * BILL_PAYMENT_NOT_FOUND.
 */
export function billApprovalService(billing: Billing): ServiceImpl<typeof ApprovalService> {
  return approvalService({
    db: billing.db,
    kind: ApprovalKind.BILL,
    listedWith: CatalogueService.method.listReviews,
    requestedBy: CatalogueService.method.resolveReview,
    execute: executeResolution(billing),
  })
}
