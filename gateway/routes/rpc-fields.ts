// Renders fields of the messages that services answer with.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money/money.ts'
import { formatDateTime } from '#core/text/time.ts'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'
import { refusal } from '../http/envelope.ts'

/** The value of a field that every answer has. Throws INTERNAL_ERROR without it. */
export function given<T>(value: T | undefined): T {
  if (value === undefined) throw refusal('INTERNAL_ERROR')
  return value
}

/** A decimal with all decimals of its currency. Throws INTERNAL_ERROR without an amount. */
export function decimalOf(money: Money | undefined): string {
  const { minorUnits, currency } = given(money)
  return formatAmount(minorUnits, currency)
}

/** A time in UTC to the second: YYYY-MM-DD HH:mm:ss. Throws INTERNAL_ERROR without one. */
export function dateTimeOf(time: Timestamp | undefined): string {
  return formatDateTime(timestampDate(given(time)))
}

/** The same; null without a time. */
export function dateTimeOrNull(time: Timestamp | undefined): string | null {
  return time === undefined ? null : dateTimeOf(time)
}
