// How amounts, moments and payers are written on the pages. Pure: no HTML, no HTTP.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money/money.ts'
import { type Language, localAmount, localTime } from '#core/text/language.ts'
import { formatDateTime, formatIso } from '#core/text/time.ts'

/** An amount as it is read, and for machines. Its currency is a field of its own. */
export type ShownAmount = { text: string; exact: string }

/** A moment as it is read, for machines, and in the form of the API. */
export type ShownTime = { text: string; iso: string; utc: string }

/** An amount in minor units as it is shown large. */
export function shownAmount(minor: bigint, currency: string, language: Language): ShownAmount {
  return { text: localAmount(minor, currency, language), exact: formatAmount(minor, currency) }
}

/** A moment as it is shown. */
export function shownTime(timestamp: Timestamp, language: Language): ShownTime {
  const time = timestampDate(timestamp)
  return {
    text: localTime(time, language),
    iso: formatIso(time),
    utc: `${formatDateTime(time)} UTC`,
  }
}

/** A payer as far as they can recognize themselves: "Kofi B., ••• 0101". */
export function shownPayer(payer: { payerName: string; payerNumberEnding: string }): string {
  const { payerName, payerNumberEnding } = payer
  return [payerName, payerNumberEnding && `••• ${payerNumberEnding}`].filter(Boolean).join(', ')
}
