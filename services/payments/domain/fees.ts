// Computes fees in minor units: by component, and by who bears them.
import { percentHalfEven, splitByWeights } from '#core/money/money.ts'
import type { PaymentChannel, PaymentMethod } from '#core/payment/words.ts'
import type { FeeSchedule } from '#platform/config/config.ts'

/** Who bears the fees: the merchant alone, or payers a percentage and payees the rest. */
export type FeeTerms = { paysFees: boolean; payerCoversPercent: number }

/** Fees of a payment: four components and, of the same sum, three shares. */
export type Fees = {
  totalMinor: bigint
  cardProcessingMinor: bigint
  platformProcessingMinor: bigint
  agentProcessingMinor: bigint
  convenienceMinor: bigint
  payerPaysMinor: bigint
  payeePaysMinor: bigint
  merchantPaysMinor: bigint
}

/** The fees of a request with the part of each payer and payee, in their order. */
export type FeeSplit = { fees: Fees; perPayerMinor: bigint[]; perPayeeMinor: bigint[] }

/** What fees depend on. */
export type FeeBase = {
  payers: { amountMinor: bigint; paymentChannel: PaymentChannel; paymentMethod: PaymentMethod }[]
  payees: { amountMinor: bigint }[]
}

const cardMethods: ReadonlySet<PaymentMethod> = new Set(['card', 'credit', 'debit'])

/**
 * Rounds each component half-even per payer. The payers' share is split in proportion to the fees that each payer's own payment
 * causes, so at 100 % each bears exactly those; the payees' share in proportion to their amounts. Every split is by largest
 * remainder and sums exactly.
 */
export function computeFees(schedule: FeeSchedule, terms: FeeTerms, base: FeeBase): FeeSplit {
  const components = base.payers.map((payer) => componentsOf(schedule, payer))
  const causedMinor = components.map(sumOf)
  const totalMinor = causedMinor.reduce((sum, minor) => sum + minor, 0n)
  const [payerPaysMinor = 0n, payeePaysMinor = 0n] = terms.paysFees
    ? splitByWeights(totalMinor, [
        BigInt(terms.payerCoversPercent),
        BigInt(100 - terms.payerCoversPercent),
      ])
    : [0n, 0n]
  const total = components.reduce(add, none)
  return {
    fees: {
      totalMinor,
      ...total,
      payerPaysMinor,
      payeePaysMinor,
      merchantPaysMinor: totalMinor - payerPaysMinor - payeePaysMinor,
    },
    perPayerMinor: splitByWeights(payerPaysMinor, causedMinor),
    perPayeeMinor: splitByWeights(
      payeePaysMinor,
      base.payees.map((payee) => payee.amountMinor),
    ),
  }
}

/** The parts of what a payer is charged. */
type PayerAmounts = Record<
  'amountMinor' | 'feeMinor' | 'tipMinor' | 'taxMinor' | 'convenienceFeeMinor',
  bigint
>

/** What a payer is charged: share, fee, tip, tax and convenience fee. */
export function chargeMinor(payer: PayerAmounts): bigint {
  return (
    payer.amountMinor + payer.feeMinor + payer.tipMinor + payer.taxMinor + payer.convenienceFeeMinor
  )
}

type Components = Pick<
  Fees,
  'cardProcessingMinor' | 'platformProcessingMinor' | 'agentProcessingMinor' | 'convenienceMinor'
>

const none: Components = {
  cardProcessingMinor: 0n,
  platformProcessingMinor: 0n,
  agentProcessingMinor: 0n,
  convenienceMinor: 0n,
}

function componentsOf(schedule: FeeSchedule, payer: FeeBase['payers'][number]): Components {
  const percent = (text: string): bigint => percentHalfEven(payer.amountMinor, text)
  const isCard = cardMethods.has(payer.paymentMethod)
  const isAgent = payer.paymentChannel === 'agent'
  return {
    cardProcessingMinor: isCard ? percent(schedule.cardProcessingPercent) : 0n,
    platformProcessingMinor: percent(schedule.platformProcessingPercent),
    agentProcessingMinor: isAgent ? percent(schedule.agentProcessingPercent) : 0n,
    convenienceMinor: percent(schedule.conveniencePercent),
  }
}

function add(left: Components, right: Components): Components {
  return {
    cardProcessingMinor: left.cardProcessingMinor + right.cardProcessingMinor,
    platformProcessingMinor: left.platformProcessingMinor + right.platformProcessingMinor,
    agentProcessingMinor: left.agentProcessingMinor + right.agentProcessingMinor,
    convenienceMinor: left.convenienceMinor + right.convenienceMinor,
  }
}

function sumOf(components: Components): bigint {
  return (
    components.cardProcessingMinor +
    components.platformProcessingMinor +
    components.agentProcessingMinor +
    components.convenienceMinor
  )
}
