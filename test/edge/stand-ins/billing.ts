// A small billing service for the edge's tests: it returns configured responses and records requests.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, type Reason } from '#core/errors/errors.ts'
import {
  type BillingService,
  type BillPaymentSchema,
  BillPaymentState,
  type PayBillRequest,
} from '#gen/payweave/billing/v1/billing_pb.js'

type Bill = Exclude<MessageInitShape<typeof BillPaymentSchema>, { $typeName: string }>

/** What it was asked, and how to make it answer otherwise. */
export type SeenBills = {
  paid: PayBillRequest[]
  /** Fields of the answer that differ from a success. */
  answer: Bill
  replayed: boolean
  /** Refuses with this when set. */
  refusal?: Reason | undefined
}

/** Nothing asked yet; every payment succeeds. */
export function newSeenBills(): SeenBills {
  return { paid: [], answer: {}, replayed: false }
}

/** The only payment that it knows. */
export const billId = 'bill_0123456789ABCDEFGHIJKLMNOPQ'

/** The handlers. */
export function billingStandIn(seen: SeenBills): Partial<ServiceImpl<typeof BillingService>> {
  const bill = (): Bill => ({
    transactionId: billId,
    state: BillPaymentState.SUCCESS,
    receiptId: 'PWBP-0A1B2C3D',
    externalReference: 'order-1',
    amount: { currency: 'USD', minorUnits: 2_500n },
    billerCode: 'DEMO_WATER',
    productCode: 'BILL',
    customerReference: 'W1234567',
    createTime: timestampFromDate(new Date()),
    ...seen.answer,
  })
  return {
    payBill(request) {
      seen.paid.push(request)
      if (seen.refusal !== undefined) throw new Failure(seen.refusal, 'an inner word')
      return { payment: bill(), replayed: seen.replayed }
    },
    getBillPayment({ transactionId }) {
      if (transactionId !== billId) throw new Failure('BILL_PAYMENT_NOT_FOUND', 'no')
      return { payment: bill() }
    },
  }
}
