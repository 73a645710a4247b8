// Maps payweave.billing.v1.CatalogueService to the domain and back.

import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, invalid, missing } from '#core/errors/errors.ts'
import { cursorIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import { ApprovalKind } from '#gen/payweave/approvals/v1/approvals_pb.js'
import {
  type CatalogueService,
  type ResolveReviewRequest,
  type Product as WireProduct,
} from '#gen/payweave/billing/v1/catalogue_pb.js'
import { approvalMessage } from '#platform/approvals/approval-service.ts'
import { findWaiting } from '#platform/approvals/approval-store.ts'
import { currentActor } from '#platform/approvals/approvals.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { microsOfTimestamp, timestampFromMicros } from '#platform/rpc/timestamps.ts'
import type { Product, Range } from '../domain/catalogue.ts'
import {
  changeBiller,
  changeProduct,
  type Decision,
  requestResolution,
  resolveReview,
} from '../operations/administer.ts'
import type { CatalogueCache } from '../operations/catalogue-cache.ts'
import type { Billing } from '../operations/pay.ts'
import { type ListedAuditEntry, listAudit } from '../store/audit-store.ts'
import { findByTransaction } from '../store/bill-store.ts'
import { readCatalogue } from '../store/catalogue-store.ts'
import { listReviews, type ReviewRow } from '../store/review-store.ts'
import { billMessage } from './billing.ts'

/**
 * The handlers of CatalogueService. They refuse bad fields and page tokens with INVALID_PARAMETER or MISSING_PARAMETER;
 * `putProduct` an unknown biller with BILLER_NOT_FOUND; `resolveReview` an unknown payment with BILL_PAYMENT_NOT_FOUND
 * and one that does not wait for a person with REVIEW_NOT_FOUND, a decision while another request about it waits with APPROVAL_OPEN,
 * and rejects as `projectOf` does.
 */
export function catalogueService(
  billing: Billing,
  catalogue: CatalogueCache,
): ServiceImpl<typeof CatalogueService> {
  return {
    async putBiller({ biller }) {
      if (biller === undefined) throw missing('biller')
      const { billerCode, name, active } = biller
      await changeBiller(billing, currentActor(), { billerCode, name, active })
      catalogue.drop()
      return {}
    },
    async putProduct({ product }) {
      if (product === undefined) throw missing('product')
      await changeProduct(billing, currentActor(), productOf(product))
      catalogue.drop()
      return {}
    },
    async listCatalogue() {
      const { billers, products } = await readCatalogue(billing.db)
      return { billers, products: products.map(productMessage) }
    },
    async listCatalogueChanges({ caller, target, startTime, endTime, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const lines = await listAudit(billing.db, {
        caller: caller || undefined,
        target: target || undefined,
        startUs: startTime && microsOfTimestamp(startTime),
        endUs: endTime && microsOfTimestamp(endTime),
        before: cursorIn(pageToken),
        limit: size + 1,
      })
      const { rows, nextPageToken } = pageOf(lines, size, ({ occurTimeUs, auditId }) =>
        tokenOf(occurTimeUs, auditId),
      )
      return { changes: rows.map(changeMessage), nextPageToken }
    },
    async listReviews({ billPaymentId, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const cursor = cursorIn(pageToken)
      const after = cursor && { reviewTimeUs: cursor.at, id: cursor.id }
      const wanted = { after, id: billPaymentId || undefined }
      const found = await listReviews(billing.db, wanted, size + 1)
      const { rows, nextPageToken } = pageOf(found, size, (last) =>
        tokenOf(last.reviewTimeUs, last.id),
      )
      const items = await Promise.all(rows.map((row) => reviewItem(billing, row)))
      return { items: items.filter((item) => item !== undefined), nextPageToken }
    },
    async resolveReview(request, context) {
      const { projectId, transactionId, note } = request
      const payment = { projectId: projectOf(context, projectId), transactionId }
      await requireIdOf(billing, payment, request.billPaymentId)
      const decision = decisionOf(request)
      if (decision.kind === 'again') {
        const asked = await resolveReview(billing, currentActor(), payment, decision, note)
        return { payment: billMessage(asked) }
      }
      const wanted = await requestResolution(billing, currentActor(), payment, decision, note)
      return {
        payment: billMessage(wanted.bill),
        approval: approvalMessage(ApprovalKind.BILL, wanted.approval),
      }
    },
  }
}

function productOf(product: WireProduct): Product {
  const { billerCode, productCode, name, referencePattern, active } = product
  const ranges = product.ranges.map(({ min, max }): Range => {
    if (min === undefined || max === undefined || min.currency !== max.currency) {
      throw invalid('product.ranges', 'must have min and max of one currency')
    }
    return { currency: min.currency, minMinor: min.minorUnits, maxMinor: max.minorUnits }
  })
  return { billerCode, productCode, name, referencePattern, active, ranges }
}

function productMessage({ ranges, ...product }: Product) {
  return {
    ...product,
    ranges: ranges.map(({ currency, minMinor, maxMinor }) => ({
      min: { currency, minorUnits: minMinor },
      max: { currency, minorUnits: maxMinor },
    })),
  }
}

function changeMessage({ occurTimeUs, requestId, ...entry }: ListedAuditEntry) {
  return { ...entry, requestId: requestId ?? '', occurTime: timestampFromMicros(occurTimeUs) }
}

/** Throws BILL_PAYMENT_NOT_FOUND when the payment has another id than this one, which may be empty. */
async function requireIdOf(
  { db }: Billing,
  { projectId, transactionId }: { projectId: string; transactionId: string },
  billPaymentId: string,
): Promise<void> {
  if (billPaymentId === '') return
  const bill = await findByTransaction(db, projectId, transactionId)
  if (bill?.billPaymentId === billPaymentId) return
  throw new Failure('BILL_PAYMENT_NOT_FOUND', 'no bill payment has both ids')
}

async function reviewItem({ db }: Billing, row: ReviewRow) {
  const { projectId, transactionId } = row
  const [bill, approval] = await Promise.all([
    findByTransaction(db, projectId, transactionId),
    findWaiting(db, { projectId, subjectId: transactionId }),
  ])
  if (bill === undefined) return undefined
  return {
    payment: billMessage(bill),
    projectId: row.projectId,
    billPaymentId: row.id,
    enquiries: bill.enquiries,
    sinceTime: timestampFromMicros(row.reviewTimeUs),
    // One that has expired is no obstacle to another.
    approvalId: approval?.state === 'waiting' ? approval.approvalId : '',
  }
}

function decisionOf({ decision }: ResolveReviewRequest): Decision {
  switch (decision.case) {
    case 'paid':
      return { kind: 'paid' }
    case 'enquireAgain':
      return { kind: 'again' }
    case 'failedWith':
      return { kind: 'failed', failureCode: decision.value }
    default:
      throw missing('decision')
  }
}
