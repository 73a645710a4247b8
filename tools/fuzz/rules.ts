// What the rules of targets have in common.
import { deepStrictEqual } from 'node:assert/strict'
import { Failure, type Reason } from '#core/errors/errors.ts'

/** What a parser returns; undefined for a refusal with one of the reasons. Throws what else leaves the parser. */
export function unlessRefused<T>(parse: () => T, ...reasons: Reason[]): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (error instanceof Failure && reasons.includes(error.reason)) return undefined
    throw error
  }
}

/** Throws unless both are equal. */
export function expectSame(actual: unknown, expected: unknown): void {
  deepStrictEqual(actual, expected)
}

/** Throws unless it is true. */
export function expectTrue(is: boolean, rule: string): void {
  if (!is) throw new Error(rule)
}
