// The value types of answers and pushes.
import { type TSchema, Type } from 'typebox'

/** A text of any form, which may be of a client: the API log does not keep it. */
export function anyText() {
  return Type.String()
}

/** A text in words of ours alone. */
export function ownText() {
  return Type.String({ logged: 'value' })
}

/** An id, of ours or of a client. */
export function idText() {
  return Type.String({ logged: 'id' })
}

/** A whole number that is no secret. */
export function count(bounds: { minimum: number; maximum?: number } = { minimum: 0 }) {
  return Type.Integer({ ...bounds, logged: 'value' })
}

/** A decimal amount with all decimals of its currency. */
export function paidAmount() {
  return Type.String({
    pattern: '^(0|[1-9]\\d*)(\\.\\d+)?$',
    examples: ['100.00'],
    logged: 'value',
  })
}

/** A time in UTC to the second. */
export function dateTime() {
  return Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$',
    examples: ['2026-11-21 10:05:30'],
    logged: 'value',
  })
}

/** A time in UTC to the millisecond. */
export function isoTime() {
  return Type.String({
    format: 'date-time',
    examples: ['2026-11-21T10:05:30.000Z'],
    logged: 'value',
  })
}

/** A day in UTC. */
export function isoDay() {
  return Type.String({ format: 'date', examples: ['2026-11-21'], logged: 'value' })
}

/** An id that the service made as a UUID. */
export function uuid() {
  return Type.String({ format: 'uuid', logged: 'value' })
}

/** An ISO 4217 code. */
export function currencyCode() {
  return Type.String({ pattern: '^[A-Z]{3}$', examples: ['TTD'], logged: 'value' })
}

/** A value that may be null. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()])
}

/** One of a few texts. */
export function word<const V extends string>(values: readonly V[]) {
  return Type.Enum([...values])
}

/** An object of these fields. */
export function fieldsOf<T extends Record<string, TSchema>>(fields: T) {
  return Type.Object(fields)
}

/** Any number of items. */
export function listOf<T extends TSchema>(item: T) {
  return Type.Array(item)
}

/** A page of a history. */
export function historyPage<T extends TSchema>(transaction: T) {
  return fieldsOf({
    mobile_number: anyText(),
    transactions: listOf(transaction),
    count: count(),
    has_more: Type.Boolean(),
    next_cursor: nullable(anyText()),
  })
}
