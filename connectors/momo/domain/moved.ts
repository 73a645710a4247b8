// Whether the money that MTN says has moved is the money that was asked for. Pure.
import { currencyDigits, parseDecimal } from '#core/money/money.ts'

/** What MTN says of a request that was successful, as it stands in the answer; undefined for what is absent or no text. */
export type Moved = Readonly<Record<'amount' | 'currency' | 'externalId', string | undefined>>

/** What was asked for. */
export type Asked = { currency: string; amountMinor: bigint; externalId: string }

/** The field in which they differ; undefined when they are the same. `5`, `5.0` and `5.00` are one amount. */
export function differenceOf(asked: Asked, moved: Moved): keyof Moved | undefined {
  if (moved.currency !== asked.currency) return 'currency'
  if (minorOf(moved.amount ?? '', asked.currency) !== asked.amountMinor) return 'amount'
  return moved.externalId === asked.externalId ? undefined : 'externalId'
}

function minorOf(text: string, currency: string): bigint | undefined {
  const decimal = parseDecimal(text)
  const digits = currencyDigits(currency)
  if (decimal === undefined || digits === undefined) return undefined
  const { digits: value, scale } = decimal
  if (scale <= digits) return value * 10n ** BigInt(digits - scale)
  const unit = 10n ** BigInt(scale - digits)
  return value % unit === 0n ? value / unit : undefined
}
