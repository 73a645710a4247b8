// Reads the fields of requests and refuses those that are absent or malformed; it must not know a service.
import { Failure } from '#core/errors.ts'
import { isUuid } from '#core/id.ts'
import { currencyDigits } from '#core/money.ts'
import { hasForbiddenCharacter } from '#core/text.ts'
import type { Money } from '#gen/types/v1/types_pb.js'

const textMost = 1_000

/** Refuses a request for one of its fields. */
export function refuse(field: string): never {
  throw new Failure('INVALID_PARAMETER', `${field} is absent or malformed`, { details: { field } })
}

/** A UUID, in lower case. */
export function requireUuid(text: string, field: string): string {
  return isUuid(text) ? text.toLowerCase() : refuse(field)
}

/** A text that is not empty and that a store takes. */
export function requireText(text: string, field: string): string {
  if (text === '' || text.length > textMost || hasForbiddenCharacter(text)) refuse(field)
  return text
}

/** An amount above zero in a currency that exists. */
export function readMoney(
  money: Money | undefined,
  field = 'amount',
): { currency: string; amountMinor: bigint } {
  if (money === undefined || money.minorUnits <= 0n) refuse(field)
  if (currencyDigits(money.currency) === undefined) refuse(field)
  return { currency: money.currency, amountMinor: money.minorUnits }
}

/** A number in E.164 with plus sign. */
export function readMobileNumber(text: string, field = 'mobile_number'): string {
  return /^\+[1-9]\d{4,14}$/.test(text) ? text : refuse(field)
}
