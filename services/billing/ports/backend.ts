// The billers as billing uses them, over payweave.backend.v1.
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { storableText } from '#core/text/text.ts'
import {
  type BillerService,
  type BillOutcome,
  BillState,
  type PayBillResponse,
  RetryCategory as WireCategory,
} from '#gen/payweave/backend/v1/billers_pb.js'
import type { BillerAnswer, BillOrder, RetryCategory } from '../domain/bill.ts'

/** What billing asks of the outside world. Both calls may be repeated. */
export type Billers = {
  /**
   * Pays, and waits for the biller. A failure to answer means nothing: enquire. `not_found`: it was once called
   * unknown and is refused for ever.
   */
  pay(billPaymentId: string, order: BillOrder): Promise<BillerAnswer>
  /** Returns the outcome of a payment. */
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
      const outcome = await refusedForEver(client.payBill(request, { timeoutMs }))
      if (outcome === 'for ever') return { state: 'not_found' }
      // NOT_FOUND proves nothing after PayBill; after an enquiry it is final.
      const answer = answerOf(outcome)
      return answer.state === 'not_found' ? { state: 'unclear' } : answer
    },
    async enquire(billPaymentId) {
      const { outcome } = await client.enquireBill({ billPaymentId })
      return answerOf(outcome)
    },
  }
}

/** What it answered, or that it once called the payment unknown: then it has not executed it and never will. */
async function refusedForEver(
  call: Promise<PayBillResponse>,
): Promise<BillOutcome | undefined | 'for ever'> {
  try {
    return (await call).outcome
  } catch (error) {
    if (error instanceof Failure && error.reason === 'REFERENCE_REFUSED') return 'for ever'
    throw error
  }
}

/** Whether a text has the form of the failure codes that clients receive. */
function isFailureCode(text: string): boolean {
  return /^[A-Z][A-Z0-9_]{0,63}$/.test(text)
}

const maxReference = 1_000

function answerOf(outcome: BillOutcome | undefined): BillerAnswer {
  const providerReference = storableText(outcome?.providerReference ?? '', maxReference)
  switch (outcome?.state) {
    case BillState.PAID:
      return { state: 'paid', providerReference }
    case BillState.REFUSED:
      return {
        state: 'refused',
        // What clients are shown is a code of this form or nothing of the biller's own words.
        failureCode: isFailureCode(outcome.failureCode) ? outcome.failureCode : 'REFUSED_BY_BILLER',
        retryCategory: categories[outcome.retryCategory] ?? 'CONDITIONAL',
        providerReference,
      }
    case BillState.NOT_FOUND:
      return { state: 'not_found' }
    default:
      return { state: 'unclear' }
  }
}
