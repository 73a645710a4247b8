// Maps payweave.billing.v1.BillingService to the domain and back.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, missing } from '#core/errors/errors.ts'
import { hashToken } from '#core/identity/digest.ts'
import { idIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import {
  type BillingService,
  BillPaymentState,
  type PayBillRequest,
  RetryCategory as WireCategory,
} from '#gen/payweave/billing/v1/billing_pb.js'
import { printReceipt } from '#platform/pdf/print.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { currentContext, runWithContext } from '#platform/rpc/context.ts'
import type { Bill, BillOrder, BillState, RetryCategory } from '../domain/bill.ts'
import { receiptOfBill } from '../domain/receipt.ts'
import { type Billing, payBill } from '../operations/pay.ts'
import { receiptTokenOf } from '../operations/receipt-link.ts'
import { type BillList, listBills } from '../store/bill-list-store.ts'
import { findByLink, findByTransaction } from '../store/bill-store.ts'

const states = {
  claimed: BillPaymentState.PENDING,
  pending: BillPaymentState.PENDING,
  review: BillPaymentState.PENDING,
  succeeded: BillPaymentState.SUCCESS,
  failed: BillPaymentState.FAILED,
} as const satisfies Record<BillState, BillPaymentState>

const lists = {
  [BillPaymentState.UNSPECIFIED]: 'all',
  [BillPaymentState.PENDING]: 'pending',
  [BillPaymentState.SUCCESS]: 'succeeded',
  [BillPaymentState.FAILED]: 'failed',
} as const satisfies Record<BillPaymentState, BillList>

const categories = {
  RETRIABLE: WireCategory.RETRIABLE,
  NON_RETRIABLE: WireCategory.NON_RETRIABLE,
  CONDITIONAL: WireCategory.CONDITIONAL,
} as const satisfies Record<RetryCategory, WireCategory>

/** What receipts have beside the bill: what their links begin with, and whether no real money moves. */
export type ReceiptSettings = { publicBaseUrl: string; isSandbox: boolean }

/**
 * The handlers of BillingService. All but `readReceipt` reject as
 * `projectOf` does.
 *
 * `payBill`: BILLER_NOT_FOUND, PRODUCT_NOT_FOUND, CURRENCY_NOT_SUPPORTED, AMOUNT_OUT_OF_RANGE,
 * CUSTOMER_REFERENCE_INVALID, INSUFFICIENT_FUNDS, IDEMPOTENCY_KEY_CONFLICT, IDEMPOTENCY_KEY_IN_PROGRESS;
 * SERVICE_UNAVAILABLE or TIMEOUT when the biller could not be called, with the key free again. `listBillPayments` refuses a page token
 * that is not ours with INVALID_PARAMETER. The others refuse an
 * unknown payment or link with BILL_PAYMENT_NOT_FOUND; those that print refuse a payment that has not succeeded with
 * RECEIPT_NOT_AVAILABLE.
 */
export function billingService(
  billing: Billing,
  receipts: ReceiptSettings,
): ServiceImpl<typeof BillingService> {
  return {
    async payBill(request, context) {
      const order = orderOf(request, projectOf(context, request.projectId))
      const { bill, replayed } = await detached(() => payBill(billing, order))
      return { payment: billMessage(bill), replayed }
    },
    async getBillPayment({ projectId, transactionId }, context) {
      const bill = await read(billing, projectOf(context, projectId), transactionId)
      return { payment: billMessage(bill) }
    },
    async listBillPayments(request, context) {
      const projectId = projectOf(context, request.projectId)
      const size = pageSizeOf(request.pageSize)
      const wanted = {
        projectId,
        afterId: idIn(request.pageToken),
        limit: size + 1,
        from: request.startTime && timestampDate(request.startTime),
        to: request.endTime && timestampDate(request.endTime),
      }
      const found = await listBills(billing.db, lists[request.state], wanted)
      const page = pageOf(found, size, ({ billPaymentId }) => tokenOf(billPaymentId))
      return { payments: page.rows.map(billMessage), nextPageToken: page.nextPageToken }
    },
    async printReceipt({ projectId, transactionId }, context) {
      const bill = await read(billing, projectOf(context, projectId), transactionId)
      const pdf = await print(billing, bill, receipts)
      const token = await receiptTokenOf(billing, bill)
      return { pdf, url: `${receipts.publicBaseUrl}/receipts/${token}` }
    },
    async readReceipt({ token }) {
      const bill = await findByLink(billing.db, hashToken(token))
      if (bill === undefined) throw unknown()
      const pdf = await print(billing, bill, receipts)
      return { pdf, receiptId: bill.receiptId ?? '' }
    },
  }
}

// Kept of the call's time for writing the outcome and the response.
const outcomeMs = 1_000

/**
 * Runs a payment so that it goes on when its caller disconnects: money may be on its way. Ledger and biller have what
 * is left of the call's time, less the time to write the outcome.
 */
function detached<T>(work: () => Promise<T>): Promise<T> {
  const context = currentContext()
  if (context === undefined) return work()
  const { requestId, traceparent } = context
  const deadline = context.deadline === undefined ? undefined : context.deadline - outcomeMs
  return runWithContext({ requestId, traceparent, deadline }, work)
}

async function read({ db }: Billing, projectId: string, transactionId: string): Promise<Bill> {
  const bill = await findByTransaction(db, projectId, transactionId)
  // A claim may still be given up, and then there never was a payment.
  if (bill === undefined || bill.state === 'claimed') throw unknown()
  return bill
}

function unknown(): Failure {
  return new Failure('BILL_PAYMENT_NOT_FOUND', 'there is no such bill payment')
}

async function print(
  billing: Billing,
  bill: Bill,
  { isSandbox }: ReceiptSettings,
): Promise<Uint8Array> {
  const { receiptId, endTime } = bill
  if (receiptId === undefined || endTime === undefined) {
    throw new Failure('RECEIPT_NOT_AVAILABLE', 'there is no receipt before success')
  }
  const { billers, products } = await billing.catalogue()
  const biller = billers.get(bill.billerCode)
  const product = products.get(bill.billerCode)?.get(bill.productCode)
  return printReceipt(
    receiptId,
    receiptOfBill(
      {
        ...bill,
        receiptId,
        endTime,
        billerName: biller?.name ?? bill.billerCode,
        productName: product?.name ?? bill.productCode,
      },
      isSandbox,
    ),
  )
}

function orderOf(request: PayBillRequest, projectId: string): BillOrder {
  const { idempotencyKey, fingerprint, amount } = request
  if (amount === undefined) throw missing('amount')
  return {
    projectId,
    idempotencyKey,
    fingerprint: Buffer.from(fingerprint),
    billerCode: request.billerCode,
    productCode: request.productCode,
    amountMinor: amount.minorUnits,
    currency: amount.currency,
    customerReference: request.customerReference,
    customerMobileNumber: request.customerMobileNumber,
    externalReference: request.externalReference,
    clientReceiptId: request.clientReceiptId,
    idType: request.idType,
    idNumber: request.idNumber,
    description: request.description,
    otherData: request.otherData,
    metadataJson: request.metadataJson,
  }
}

/** A payment as its project may see it, amounts in minor units. */
export function billMessage(bill: Bill) {
  const { retryCategory, endTime, externalReference, clientReceiptId } = bill
  return {
    transactionId: bill.transactionId,
    state: states[bill.state],
    receiptId: bill.receiptId ?? '',
    ...(externalReference === undefined ? {} : { externalReference }),
    ...(clientReceiptId === undefined ? {} : { clientReceiptId }),
    failureCode: bill.failureCode ?? '',
    retryCategory:
      retryCategory === undefined ? WireCategory.UNSPECIFIED : categories[retryCategory],
    amount: { currency: bill.currency, minorUnits: bill.amountMinor },
    billerCode: bill.billerCode,
    productCode: bill.productCode,
    customerReference: bill.customerReference,
    createTime: timestampFromDate(bill.createTime),
    ...(endTime === undefined ? {} : { endTime: timestampFromDate(endTime) }),
  }
}
