// The rules for the fees that a client states for an institution transaction, in the units of the two sides.

/** Fees that have a meaning; "total" and "convenience" move no money. */
export const feeNames = ['total', 'convenience', 'sender_pays', 'recipient_pays'] as const

/** Name of a fee in the JSON contract. */
export type FeeName = (typeof feeNames)[number]

/**
 * The stated fees, each zero or above. The sender's, the convenience fee and the total are in the unit of the debit.
 */
export type StatedFees = {
  senderPays: bigint
  /** In the unit of the credit. */
  recipientPays: bigint
  convenience: bigint
  /** Undefined when the client stated none. */
  total: bigint | undefined
}

/** The amounts that fees are checked against. */
export type FeeTerms = {
  /** What the debit side pays before fees. */
  debit: bigint
  /** What the credit side gets before fees. */
  credit: bigint
  /** Name of the field that `debit` was read from. */
  debitField: 'amount' | 'sender_amount'
  /** Whether both sides are in one currency. */
  oneCurrency: boolean
}

/** A rule that fees break; `rule` reads on from the name of the field: "must be …". */
export type BrokenFeeRule = { fee: FeeName; rule: string }

/**
 * Returns the first rule that fees break, undefined when they keep all: neither side pays more in fees than the amount
 * that they go with, and a total that is stated is the sum of the others. A total cannot be stated when
 * `recipient_pays` is in another currency, because the sum would mix units.
 */
export function brokenFeeRule(fees: StatedFees, terms: FeeTerms): BrokenFeeRule | undefined {
  const { senderPays, recipientPays, convenience, total } = fees
  if (senderPays > terms.debit) {
    return { fee: 'sender_pays', rule: `must not be above ${terms.debitField}` }
  }
  if (recipientPays > terms.credit) {
    return { fee: 'recipient_pays', rule: 'must not be above amount' }
  }
  if (total === undefined) return undefined
  if (!terms.oneCurrency && recipientPays > 0n) {
    return { fee: 'total', rule: 'must be left out when recipient_pays is in another currency' }
  }
  if (total === senderPays + recipientPays + convenience) return undefined
  return { fee: 'total', rule: 'must be the sum of sender_pays, recipient_pays and convenience' }
}
