// Maps backend.v1.BillerService to the domain; it must not hold a rule or a statement.
import type { ServiceImpl } from '@connectrpc/connect'
import { type BillerService, BillState, RetryCategory } from '#gen/backend/v1/billers_pb.js'
import { enquireBill, type StoredBill } from './bill-store.ts'
import { type BillContext, payBill } from './pay-bill.ts'
import { foldedId, readMoney } from './request.ts'

const states = {
  pending: BillState.PENDING,
  paid: BillState.PAID,
  refused: BillState.REFUSED,
  not_found: BillState.NOT_FOUND,
} as const

/** The handlers of backend.v1.BillerService. */
export function billerService(context: BillContext): ServiceImpl<typeof BillerService> {
  return {
    async payBill({ billPaymentId, billerCode, productCode, amount, customerReference }, call) {
      const order = {
        billPaymentId: foldedId(billPaymentId),
        billerCode: billerCode,
        productCode: productCode,
        ...readMoney(amount),
        customerReference: customerReference,
      }
      return { outcome: outcomeOf(await payBill(context, order, call.signal)) }
    },
    async enquireBill({ billPaymentId }) {
      const id = foldedId(billPaymentId)
      return { outcome: outcomeOf(await enquireBill(context.db, id)) }
    },
  }
}

/** Every refusal of these billers is for good. */
function outcomeOf({ state, failureCode, providerReference }: StoredBill) {
  return {
    state: states[state],
    failureCode: failureCode ?? '',
    retryCategory: state === 'refused' ? RetryCategory.NON_RETRIABLE : RetryCategory.UNSPECIFIED,
    providerReference: providerReference ?? '',
  }
}
