// The billers as billing uses them, over backend.v1; it must not decide what an answer leads to.
import type { Client } from '@connectrpc/connect'
import {
  type BillerService,
  type BillOutcome,
  BillState,
  RetryCategory as WireCategory,
} from '#gen/backend/v1/billers_pb.js'
import type { BillerAnswer, BillOrder, RetryCategory } from './bill.ts'

/** What billing asks of the outside world. Both calls may be repeated. */
export type Billers = {
  /** Pays, and waits for the biller. A failure to answer means nothing: enquire. */
  pay(billPaymentId: string, order: BillOrder): Promise<BillerAnswer>
  /** Tells what became of a payment. */
  enquire(billPaymentId: string): Promise<BillerAnswer>
}

const categories: Partial<Record<WireCategory, RetryCategory>> = {
  [WireCategory.RETRIABLE]: 'RETRIABLE',
  [WireCategory.NON_RETRIABLE]: 'NON_RETRIABLE',
  [WireCategory.CONDITIONAL]: 'CONDITIONAL',
}

/** The billers over the back end's RPC client. */
export function billersOver(client: Client<typeof BillerService>, timeoutMs: number): Billers {
  return {
    async pay(billPaymentId, order) {
      const request = {
        billPaymentId,
        billerCode: order.billerCode,
        productCode: order.productCode,
        amount: { currency: order.currency, minorUnits: order.amountMinor },
        customerReference: order.customerReference,
        customerMobileNumber: order.customerMobileNumber,
        idType: order.idType,
        idNumber: order.idNumber,
      }
      const { outcome } = await client.payBill(request, { timeoutMs })
      // Not knowing what it was just handed is no answer to a payment; to an enquiry it is one.
      const answer = answerOf(outcome)
      return answer.state === 'not_found' ? { state: 'unclear' } : answer
    },
    async enquire(billPaymentId) {
      const { outcome } = await client.enquireBill({ billPaymentId })
      return answerOf(outcome)
    },
  }
}

const failureCodePattern = /^[A-Z][A-Z0-9_]{0,63}$/

function answerOf(outcome: BillOutcome | undefined): BillerAnswer {
  switch (outcome?.state) {
    case BillState.PAID:
      return { state: 'paid', providerReference: outcome.providerReference }
    case BillState.REFUSED:
      return {
        state: 'refused',
        // What clients are shown is a code of this form or nothing of the biller's own words.
        failureCode: failureCodePattern.test(outcome.failureCode)
          ? outcome.failureCode
          : 'REFUSED_BY_BILLER',
        retryCategory: categories[outcome.retryCategory] ?? 'CONDITIONAL',
        providerReference: outcome.providerReference,
      }
    case BillState.NOT_FOUND:
      return { state: 'not_found' }
    default:
      return { state: 'unclear' }
  }
}
