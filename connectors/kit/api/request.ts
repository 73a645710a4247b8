// Reads the fields of requests whose single fields are validated by the contract already.
import { Failure } from '#core/errors/errors.ts'
import { currencyDigits } from '#core/money/money.ts'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'

/** Throws INVALID_PARAMETER for a field that is absent or malformed. */
export function refuse(field: string): never {
  throw new Failure('INVALID_PARAMETER', `${field} is absent or malformed`, { details: { field } })
}

/** A UUID in lower case, the form in which the database returns it. */
export function rolledUpId(id: string): string {
  return id.toLowerCase()
}

/**
 * An amount in minor units. Throws INVALID_PARAMETER, which names `field`, when it is not set or its currency is
 * unknown.
 */
export function readMoney(
  money: Money | undefined,
  field = 'amount',
): { currency: string; amountMinor: bigint } {
  if (money === undefined || currencyDigits(money.currency) === undefined) refuse(field)
  return { currency: money.currency, amountMinor: money.minorUnits }
}
