// Compares a provider's report of a day with the settlements of Payweave. Pure.

/** One movement of money, as either side has it. */
export type Movement = {
  /** Our reference: the attempt of a receipt, the payout or the refund. */
  reference: string
  /** ISO 4217 code. */
  currency: string
  amountMinor: bigint
}

/** A movement on which the two sides differ. */
export type Difference =
  /** The provider moved it, and Payweave does not know it: a report is missing. */
  | { kind: 'not_settled'; reference: string; provider: Movement }
  /** Payweave has settled it, and the provider does not report it. */
  | { kind: 'not_reported'; reference: string; settlement: Movement }
  | { kind: 'amount_differs'; reference: string; provider: Movement; settlement: Movement }
  /** One side has it more than once. */
  | { kind: 'repeated'; reference: string; side: 'provider' | 'settlement'; times: number }

/**
 * Every difference, ordered by reference. Movements near midnight may stand in the next report: pass the provider's reports
 * of the day before and after too, and look at what differs on the day alone.
 */
export function reconcile(
  provider: readonly Movement[],
  settlements: readonly Movement[],
): Difference[] {
  const reported = Map.groupBy(provider, ({ reference }) => reference)
  const settled = Map.groupBy(settlements, ({ reference }) => reference)
  const references = [...new Set([...reported.keys(), ...settled.keys()])].toSorted()
  return references.flatMap((reference) => [
    ...repeats(reference, 'provider', reported.get(reference)),
    ...repeats(reference, 'settlement', settled.get(reference)),
    ...difference(reference, reported.get(reference)?.[0], settled.get(reference)?.[0]),
  ])
}

function repeats(
  reference: string,
  side: 'provider' | 'settlement',
  movements: Movement[] | undefined,
): Difference[] {
  const times = movements?.length ?? 0
  return times > 1 ? [{ kind: 'repeated', reference, side, times }] : []
}

function difference(
  reference: string,
  provider: Movement | undefined,
  settlement: Movement | undefined,
): Difference[] {
  if (settlement === undefined) {
    return provider === undefined ? [] : [{ kind: 'not_settled', reference, provider }]
  }
  if (provider === undefined) return [{ kind: 'not_reported', reference, settlement }]
  const isSame =
    provider.currency === settlement.currency && provider.amountMinor === settlement.amountMinor
  return isSame ? [] : [{ kind: 'amount_differs', reference, provider, settlement }]
}
