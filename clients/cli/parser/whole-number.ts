// Reads the options that are numbers.
import { UsageError } from '../usage-error.ts'

/**
 * Reads an option that is a whole number from 1 to `max`. Throws a UsageError that names the option for anything else.
 */
export function wholeNumber(text: string, option: string, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (value >= 1 && value <= max) return value
  throw new UsageError(`--${option} must be a whole number from 1 to ${max}`)
}
