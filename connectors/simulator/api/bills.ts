// Maps payweave.backend.v1.BillerService to the domain.
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type BillerService,
  BillState,
  RetryCategory,
} from '#gen/payweave/backend/v1/billers_pb.js'
import { readMoney, rolledUpId } from '../../kit/api/request.ts'
import { enquireBill, type StoredBill } from '../store/bill-store.ts'
import { type BillContext, payBill } from '../workers/pay-bill.ts'

const states = {
  pending: BillState.PENDING,
  paid: BillState.PAID,
  refused: BillState.REFUSED,
  not_found: BillState.NOT_FOUND,
} as const

/**
 * The handlers of payweave.backend.v1.BillerService. `payBill` refuses a bad amount with INVALID_PARAMETER, an id that an
 * enquiry has called unknown with REFERENCE_REFUSED, and one that was used with other content with REFERENCE_CONFLICT. For a slow customer reference it rejects with TIMEOUT when the
 * caller gives up first, and with SERVICE_UNAVAILABLE when the process stops.
 */
export function billerService(context: BillContext): ServiceImpl<typeof BillerService> {
  return {
    async payBill({ billPaymentId, billerCode, productCode, amount, customerReference }, call) {
      const order = {
        billPaymentId: rolledUpId(billPaymentId),
        billerCode: billerCode,
        productCode: productCode,
        ...readMoney(amount),
        customerReference: customerReference,
      }
      return { outcome: outcomeOf(await payBill(context, order, call.signal)) }
    },
    async enquireBill({ billPaymentId }) {
      const id = rolledUpId(billPaymentId)
      return { outcome: outcomeOf(await enquireBill(context.db, id)) }
    },
  }
}

/** Every refusal of these billers is final. */
function outcomeOf({ state, failureCode, providerReference }: StoredBill) {
  return {
    state: states[state],
    failureCode: failureCode ?? '',
    retryCategory: state === 'refused' ? RetryCategory.NON_RETRIABLE : RetryCategory.UNSPECIFIED,
    providerReference: providerReference ?? '',
  }
}
