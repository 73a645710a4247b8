// The value types of requests, each with the rule that a refusal quotes.
import { type TSchema, Type } from 'typebox'
import { amountPattern, amountRule } from '#core/money/money.ts'

/** Keywords of our schemas beside JSON Schema. */
export type Annotated = {
  /** Reads on from the name of the field: "must be …". */
  rule?: string
  /** Tab and newline pass in this text and in everything below it. */
  multiline?: boolean
  /** What the API log keeps: the value, or an id without its long numbers. Absent: no more than that there was one. */
  logged?: 'value' | 'id'
  /** This text names a field, and these are the names that the API knows: `PW-Warning` has the path of any other. */
  knownNames?: readonly string[]
}

/** What a currency must be. */
export const currencyRule = 'must be an ISO 4217 currency code, such as "TTD"'

/** What a mobile number must be. */
export const mobileNumberRule =
  'must be a possible mobile number: E.164, such as "+18683501234", or a national number of the PW-origin-country'

/** What a day or a time must be. */
export const momentRule =
  'must be a real date YYYY-MM-DD or time YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00"'

/** What an e-mail address must be. */
const emailRule = 'must be an e-mail address of at most 254 characters, such as "ama@example.com"'

/** A text of `min` to `max` characters. */
export function text(min: number, max: number) {
  const rule =
    min === 0 ? `must be a string of at most ${max} characters` : range('a string', min, max)
  return Type.String({ minLength: min, maxLength: max, rule })
}

/**
 * An `api_key` or a session token, open or sealed. Longer than any that we issue: a wrong one is refused by its service as
 * invalid like any other.
 */
export function credential() {
  return text(1, 16_384)
}

/** An id of `min` to `max` characters, of ours or of the client. */
export function idText(min: number, max: number) {
  return Type.String({ ...text(min, max), logged: 'id' })
}

/** A text of at most `max` characters that may run over several lines. */
export function multilineText(max: number) {
  return Type.String({
    maxLength: max,
    multiline: true,
    rule: `must be a string of at most ${max} characters`,
  })
}

/** A decimal amount. Its decimals are checked against the currency by `readAmount`. */
export function amount() {
  return Type.String({
    pattern: amountPattern.source,
    examples: ['100.00'],
    rule: amountRule,
    logged: 'value',
  })
}

/** An ISO 4217 code by form; that it exists is checked by `readCurrency`. */
export function currency() {
  return Type.String({
    pattern: '^[A-Z]{3}$',
    examples: ['TTD'],
    rule: currencyRule,
    logged: 'value',
  })
}

/** A mobile number by length; that it is possible is checked by `readPhone`. */
export function mobileNumber() {
  return Type.String({
    minLength: 1,
    maxLength: 32,
    examples: ['+12025550100'],
    rule: mobileNumberRule,
  })
}

/** A name of a person. */
export function personName() {
  return Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '\\S',
    rule: 'must be a string of 1 to 100 characters that is not blank',
  })
}

/** A name of an institution. */
export function institutionName() {
  return text(1, 100)
}

/** An e-mail address, by a plain pattern and length. */
export function email() {
  return Type.String({
    maxLength: 254,
    pattern: '^[^\\s@]+@[^\\s@]+$',
    examples: ['ama@example.com'],
    rule: emailRule,
  })
}

/** An e-mail address that may be left empty. */
export function emailOrEmpty() {
  return Type.String({
    maxLength: 254,
    pattern: '^([^\\s@]+@[^\\s@]+)?$',
    rule: emailRule,
  })
}

/** One of a few texts. */
export function oneOf<const V extends string>(...values: V[]) {
  return Type.Enum(values, { rule: `must be one of ${values.join(', ')}` })
}

/** The integers 0 and 1, which the contract uses for no and yes. */
export function zeroOrOne() {
  return Type.Enum([0, 1], { rule: 'must be 0 or 1' })
}

/** A whole number of a range. */
export function integer(minimum: number, maximum: number) {
  const rule = `must be an integer from ${minimum} to ${maximum}`
  return Type.Integer({ minimum, maximum, rule, logged: 'value' })
}

/** A list of `min` to `max` items. */
export function list<T extends TSchema>(item: T, min: number, max: number) {
  return Type.Array(item, {
    minItems: min,
    maxItems: max,
    rule: range('a list', min, max, 'items'),
  })
}

/** An object of known fields; others are ignored. */
export function record<T extends Record<string, TSchema>>(fields: T) {
  return Type.Object(fields, { rule: 'must be an object' })
}

/** A field that may be absent. */
export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(schema)
}

/** An object of the client's own, kept as it is. */
export function freeObject() {
  return Type.Object({}, { additionalProperties: true, multiline: true, rule: 'must be an object' })
}

/** A text, or an object with anything in it: the contract gives no type. */
export function textOrObject(maxLength: number) {
  return Type.Union([multilineText(maxLength), freeObject()], {
    multiline: true,
    rule: `must be a text of at most ${maxLength} characters or an object`,
  })
}

/** A day or a day with time, by form; that it is real is checked by `readMoment`. */
export function dayOrMoment() {
  return Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2}( \\d{2}:\\d{2}:\\d{2})?$',
    rule: momentRule,
    logged: 'value',
  })
}

function range(what: string, min: number, max: number, unit = 'characters'): string {
  return `must be ${what} of ${min} to ${max} ${unit}`
}

/** Query of every route that says what it is about in the body. */
export const versionQuery = record({ version: idText(1, 20) })
