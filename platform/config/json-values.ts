// Parses what settings hold as JSON, strictly. Errors read on from the name of the setting and never quote the value.
import { isCurrency, parseAmount } from '#core/money/money.ts'

/** Throws an Error that says what is wrong with a setting. `problem` never quotes the value, which may be secret. */
export function fail(problem: string): never {
  throw new Error(problem)
}

/** Parses JSON. Throws an Error for another text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return fail('must be JSON')
  }
}

/**
 * Returns an object with exactly these fields: a misspelt one would otherwise switch a rule off silently. Throws an Error for
 * another value.
 */
export function fieldsOf(value: unknown, name: string, fields: string[]): Record<string, unknown> {
  const record = recordOf(value, name)
  const given = Object.keys(record).toSorted().join(', ')
  const wanted = fields.toSorted().join(', ')
  return given === wanted ? record : fail(`${name} must have exactly the fields ${wanted}`)
}

/** Returns an amount in minor units. Throws an Error for a value that is none of its currency. */
export function amountOf(value: unknown, name: string, currency: string): bigint {
  if (typeof value === 'string') {
    try {
      return parseAmount(value, currency)
    } catch {
      // Reported below, without the value.
    }
  }
  return fail(`${name} must be an amount of its currency as a string`)
}

/** Returns amounts in minor units by ISO 4217 code. Throws an Error for another value. */
export function amountsByCurrency(value: unknown, name: string): Record<string, bigint> {
  return Object.fromEntries(
    Object.entries(recordOf(value, name)).map(([currency, amount]) => {
      if (!isCurrency(currency)) fail(`${name} must be named by ISO 4217 codes`)
      return [currency, amountOf(amount, `${name}.${currency}`, currency)]
    }),
  )
}

/** Returns an object. Throws an Error for another value. */
export function recordOf(value: unknown, name: string): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Record<string, unknown>) : fail(`${name} must be an object`)
}
