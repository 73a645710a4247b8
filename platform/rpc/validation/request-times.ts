// Finds invalid timestamps: protovalidate's own rules for Timestamp cost ten times as much and let wrong nanos pass.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt'

/** The path of the first bad time in a message; undefined when there is none. */
export type FindBadTime = (message: Message) => string | undefined

// The first and the last second of the years 1 to 9999, the range of Timestamp. A service may round to the
// milliseconds of a Date, so the range ends with the last whole millisecond: the next is in the year 10000, which no
// response can hold.
const firstSecond = -62_135_596_800n
const lastSecond = 253_402_300_799n
const nanosOfSecond = 1_000_000_000
const lastNanos = 999_000_000

/**
 * Makes the search of a type; undefined when it can hold no time. Throws an Error for a type with times in a map, which
 * no contract has.
 */
export function badTimeFinder(type: DescMessage): FindBadTime | undefined {
  return finderOf(type, new Map())
}

type Plain = Record<string, unknown>
type Step = (holder: Plain) => string | undefined

function finderOf(
  type: DescMessage,
  known: Map<DescMessage, FindBadTime | undefined>,
): FindBadTime | undefined {
  if (type.typeName === TimestampSchema.typeName) {
    return (message) => (isTime(message as Timestamp) ? undefined : '')
  }
  // A type that is inside itself is not searched again: no request of ours has one.
  if (known.has(type)) return known.get(type)
  known.set(type, undefined)
  const steps = type.fields.flatMap((field) => {
    const inner = field.message === undefined ? undefined : finderOf(field.message, known)
    return inner === undefined ? [] : [stepInto(field, inner)]
  })
  const finder = steps.length === 0 ? undefined : first(steps)
  known.set(type, finder)
  return finder
}

function first(steps: readonly Step[]): FindBadTime {
  return (message) => {
    for (const step of steps) {
      const found = step(message)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function stepInto(field: DescField, inner: FindBadTime): Step {
  const { name, localName, oneof, fieldKind } = field
  const within = (message: Message, path: string) => {
    const found = inner(message)
    if (found === undefined) return undefined
    return found === '' ? path : `${path}.${found}`
  }
  if (fieldKind === 'list') {
    return (holder) => {
      const items = holder[localName] as Message[]
      for (const [index, item] of items.entries()) {
        const found = within(item, `${name}[${index}]`)
        if (found !== undefined) return found
      }
      return undefined
    }
  }
  if (fieldKind === 'map') throw new Error(`a map cannot hold times: ${String(field)}`)
  return (holder) => {
    const value =
      oneof === undefined ? holder[localName] : chosen(holder[oneof.localName], localName)
    return value === undefined ? undefined : within(value as Message, name)
  }
}

function chosen(choice: unknown, localName: string): unknown {
  const { case: member, value } = choice as { case: string | undefined; value?: unknown }
  return member === localName ? value : undefined
}

function isTime({ seconds, nanos }: Timestamp): boolean {
  if (seconds < firstSecond || seconds > lastSecond || nanos < 0) return false
  return seconds === lastSecond ? nanos <= lastNanos : nanos < nanosOfSecond
}
