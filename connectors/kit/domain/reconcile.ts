// Compares a provider's report of a day with the settlements of Payweave. Pure.

/** One movement of money, as either side has it. */
export type Movement = {
  /** Our reference: the attempt of a receipt, the payout or the refund. */
  reference: string
  /** ISO 4217 code. */
  currency: string
  amountMinor: bigint
  /** When that side wrote it. */
  time: Date
}

/** What a provider says has moved in the time from `from` to before `to`. */
export type ProviderReport = {
  /** What is read, for the head of the report. */
  source: string
  read(from: Date, to: Date): Promise<ProviderMovements>
}

/** Movements of Payweave, and how many others the account has. */
export type ProviderMovements = {
  movements: Movement[]
  foreign: number
  /** Refunds that failed after they had moved, at the time at which their money came back. */
  returned?: Movement[]
}

/** A settlement of Payweave, as far as it says what a provider moved. */
export type Settled = {
  settlementId: string
  /** As Payweave's proto names it, without its prefix. */
  kind: string
  attemptId: string
  payeeId: string
  reversesId: string
  currency: string
  amountMinor: bigint
  time: Date
}

/** Payweave's settlements of one connector. */
export type Settlements = {
  /** Those written in the time from `from` to before `to`. Lacks what was written within the last minute. */
  written(from: Date, to: Date): Promise<Settled[]>
  /** Those of payouts and refunds, by their references, and of their returns, whenever they were written. */
  ofReferences(references: readonly string[]): Promise<Settled[]>
}

const receipts: ReadonlySet<string> = new Set([
  'PAYER_RECEIPT',
  'LATE_RECEIPT',
  'DUPLICATE_RECEIPT',
])

/**
 * What settlements say that a provider moved. A refund or payout that was returned has moved nothing. Fees and recoveries are
 * between Payweave's own accounts.
 */
export function settledMovements(settlements: readonly Settled[]): Movement[] {
  const returned = new Set(
    settlements.flatMap(({ kind, reversesId, payeeId }) => {
      if (kind === 'REFUND_RETURNED') return [reversesId]
      return kind === 'PAYOUT_RETURNED' ? [payeeId] : []
    }),
  )
  return settlements.flatMap(({ kind, settlementId, attemptId, payeeId, ...money }) => {
    const reference = referenceOf(kind, { settlementId, attemptId, payeeId })
    if (reference === undefined || returned.has(reference)) return []
    const { currency, amountMinor, time } = money
    return [{ reference, currency, amountMinor, time }]
  })
}

function referenceOf(
  kind: string,
  { settlementId, attemptId, payeeId }: Pick<Settled, 'settlementId' | 'attemptId' | 'payeeId'>,
): string | undefined {
  if (receipts.has(kind)) return attemptId
  if (kind === 'REFUND') return settlementId
  return kind === 'PAYOUT' ? payeeId : undefined
}

/** A movement on which the two sides differ. */
export type Difference =
  /** The provider moved it, and Payweave does not know it: a report is missing. */
  | { kind: 'not_settled'; reference: string; provider: Movement }
  /** Payweave has settled it, and the provider does not report it. */
  | { kind: 'not_reported'; reference: string; settlement: Movement }
  /** A refund came back at the provider, and Payweave has not recorded that. */
  | { kind: 'not_returned'; reference: string; provider: Movement }
  | { kind: 'amount_differs'; reference: string; provider: Movement; settlement: Movement }
  /** One side has it more than once. */
  | {
      kind: 'repeated'
      reference: string
      side: 'provider' | 'settlement'
      times: number
      provider?: Movement
      settlement?: Movement
    }

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
  const first = movements?.[0]
  if (first === undefined || times < 2) return []
  return [{ kind: 'repeated', reference, side, times, [side]: first }]
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

/** The refunds that came back at the provider, of those that Payweave has settled and not recorded as returned. */
export function notReturned(
  returned: readonly Movement[],
  settlements: readonly Settled[],
): Difference[] {
  const settled = new Set(settledMovements(settlements).map(({ reference }) => reference))
  return returned
    .filter(({ reference }) => settled.has(reference))
    .map((provider) => ({ kind: 'not_returned', reference: provider.reference, provider }))
}

/** Whether one side wrote the movement in the time from `from` to before `to`. */
export function isWithin(one: Difference, from: Date, to: Date): boolean {
  const sides = [
    'provider' in one ? one.provider : undefined,
    'settlement' in one ? one.settlement : undefined,
  ]
  return sides.some((side) => side !== undefined && side.time >= from && side.time < to)
}
