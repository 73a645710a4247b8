// How billers respond to a bill, by customer reference. Pure.

export type BillState = 'pending' | 'paid' | 'refused' | 'not_found'
/** Why a biller refuses; it never takes such a bill. */
export type BillRefusal = 'CUSTOMER_REFERENCE_REJECTED' | 'BILL_ALREADY_PAID'

/** What a biller does with a bill. */
export type BillPlan =
  | { does: 'pay' }
  | { does: 'pay_later'; afterMs: number }
  /** Pays, and says nothing until somebody enquires. */
  | { does: 'pay_silently' }
  | { does: 'refuse'; failureCode: BillRefusal }
  /** Never receives the bill, without an error. */
  | { does: 'lose' }

/** By the last four characters of the customer reference. */
const plans: Readonly<Record<string, BillPlan>> = {
  '0402': { does: 'refuse', failureCode: 'CUSTOMER_REFERENCE_REJECTED' },
  '0409': { does: 'refuse', failureCode: 'BILL_ALREADY_PAID' },
  '0408': { does: 'pay_later', afterMs: 5_000 },
  '0504': { does: 'pay_silently' },
  '0404': { does: 'lose' },
}

/** What the biller does with the bill of a reference: it pays at once unless the reference is listed. */
export function planOf(customerReference: string): BillPlan {
  const ending = customerReference.slice(-4)
  return (Object.hasOwn(plans, ending) ? plans[ending] : undefined) ?? { does: 'pay' }
}
