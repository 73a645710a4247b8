// Amounts in the units that Stripe takes. Pure. Rules: https://docs.stripe.com/currencies, "Minor units in API amounts" and "Special cases".
import { currencyDigits } from '#core/money/money.ts'

/** Stripe takes whole units of these. ISO 4217 has two decimals for MGA, and none for the others. */
const zeroDecimal = new Set(
  'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '),
)
/** Stripe takes hundredths of these, which must be zero. ISO 4217 has no decimals for them. */
const hundredths = new Set(['ISK', 'UGX'])
const maxDecimals = 3
/** Twelve digits, the most that Stripe takes in any currency. Its lower limits depend on currency and account: Stripe applies them. */
const maxAmount = 999_999_999_999n

/**
 * The amount in Stripe's units; undefined for one that Stripe cannot move exactly: of a currency with more than three decimals, a
 * part of a unit that Stripe takes whole only, or a last of three decimals that is not zero. Nothing is ever rounded.
 */
export function stripeAmount(amountMinor: bigint, currency: string): number | undefined {
  const digits = currencyDigits(currency)
  if (digits === undefined || digits > maxDecimals) return undefined
  const scaled = scale(amountMinor, decimalsOf(currency, digits) - digits)
  if (scaled === undefined || scaled > maxAmount) return undefined
  if (digits === maxDecimals && scaled % 10n !== 0n) return undefined
  return Number(scaled)
}

/** The minor units of an amount in Stripe's units; undefined for an unknown currency, or a part of a minor unit. */
export function minorAmount(amount: number, currency: string): bigint | undefined {
  const digits = currencyDigits(currency)
  if (digits === undefined) return undefined
  return scale(BigInt(amount), digits - decimalsOf(currency, digits))
}

function decimalsOf(currency: string, digits: number): number {
  if (zeroDecimal.has(currency)) return 0
  return hundredths.has(currency) ? 2 : digits
}

function scale(amount: bigint, decimals: number): bigint | undefined {
  if (decimals >= 0) return amount * 10n ** BigInt(decimals)
  const unit = 10n ** BigInt(-decimals)
  return amount % unit === 0n ? amount / unit : undefined
}
