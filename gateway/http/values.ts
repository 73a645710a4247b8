// Step 9 of the edge for values that a schema cannot validate: money, phone numbers, days, ids.
import { Failure, type Reason } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { isCurrency, parseAmount } from '#core/money/money.ts'
import { parsePhone } from '#core/text/phone.ts'
import { parseDateTime } from '#core/text/time.ts'
import { currencyRule, mobileNumberRule, momentRule } from '../routes/schema-values.ts'
import { refusal } from './envelope.ts'
import { invalidField } from './validate.ts'

/** An id that a client sent, in the form that services take: any other text answers like an id that is unknown. */
export function readId(text: string, unknown: Reason): string {
  if (isUuid(text)) return text
  throw refusal(unknown)
}

/** A currency that exists. */
export function readCurrency(code: string, path: string): string {
  if (!isCurrency(code)) throw invalidField(path, currencyRule)
  return code
}

/** Minor units of an amount in a currency that exists. */
export function readAmount(
  text: string,
  currency: string,
  path: string,
  options: { allowZero?: boolean } = {},
): bigint {
  try {
    return parseAmount(text, currency, options)
  } catch (error) {
    if (error instanceof Failure) throw invalidField(path, error.message)
    throw error
  }
}

/** An amount above zero whose currency is known only to a service. */
export function checkAmount(text: string, path: string): void {
  if (!/[1-9]/.test(text)) throw invalidField(path, 'must be above zero')
}

/** E.164 of a number that is possible in the country or anywhere. */
export function readPhone(text: string, country: string, path: string): string {
  const phone = knownPhone(text, country)
  if (phone === undefined) throw invalidField(path, mobileNumberRule)
  return phone
}

// Reading a number costs as much as all other checks of a request together, and the same ones come again.
const phones = new Map<string, string>()
const maxPhones = 10_000

function knownPhone(text: string, country: string): string | undefined {
  const key = `${country}${text}`
  const known = phones.get(key)
  if (known !== undefined) return known
  const phone = parsePhone(text, country)
  if (phones.size >= maxPhones) phones.clear()
  if (phone !== undefined) phones.set(key, phone)
  return phone
}

/** E.164 of the `mobile_number` of a query, where an unescaped plus sign has become a blank. */
export function readQueriedPhone(text: string, country: string): string {
  return readPhone(withPlus(text), country, 'mobile_number')
}

/** The `mobile_number` of a query as the client wrote it. */
export function withPlus(text: string): string {
  return text.startsWith(' ') ? `+${text.slice(1)}` : text
}

/** Checks that a day, or a day with time, is real. */
export function checkMoment(text: string | undefined, path: string): void {
  if (text === undefined) return
  const whole = text.length === 10 ? `${text} 00:00:00` : text
  if (parseDateTime(whole) === undefined) throw invalidField(path, momentRule)
}

const dayMs = 86_400_000
const secondMs = 1_000
/** The last time that services take. */
const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** A window of time; `end` is the instant after its last one. */
export type Window = { start: Date | undefined; end: Date | undefined }

/** The window that two fields name: a day alone is the whole of it, a time its whole second. */
export function readWindow<Start extends string, End extends string>(
  given: { [Name in Start | End]?: string },
  startName: Start,
  endName: End,
): Window {
  const startText: string | undefined = given[startName]
  const endText: string | undefined = given[endName]
  checkMoment(startText, startName)
  checkMoment(endText, endName)
  const start = momentOf(startText)
  const last = momentOf(endText)
  const widthMs = endText?.length === 10 ? dayMs : secondMs
  const end =
    last === undefined ? undefined : new Date(Math.min(last.getTime() + widthMs, lastTimeMs))
  if (start !== undefined && end !== undefined && start >= end) {
    throw invalidField(startName, `must not be after ${endName}`)
  }
  return { start, end }
}

function momentOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  return parseDateTime(text.length === 10 ? `${text} 00:00:00` : text)
}
