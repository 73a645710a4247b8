// Formats and parses the two time formats of the contract, always in UTC.

const dateTimePattern = /^(?!0000)\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/

/**
 * Prints `YYYY-MM-DD HH:mm:ss` in UTC; milliseconds are cut off. Throws RangeError for a year outside 0 to 9999 and for
 * an invalid date.
 */
export function formatDateTime(date: Date): string {
  const ms = date.getTime()
  return `${dayOf(ms)} ${clockOf(ms)}`
}

/**
 * Prints ISO 8601 in UTC with milliseconds and Z. Throws RangeError for a year outside 0 to 9999 and for an invalid
 * date.
 */
export function formatIso(date: Date): string {
  const ms = date.getTime()
  return `${dayOf(ms)}T${clockOf(ms)}.${String(1_000 + remainder(ms, 1_000)).slice(1)}Z`
}

/** Reads `YYYY-MM-DD HH:mm:ss` as UTC; undefined unless the text has exactly this form and is a real date. */
export function parseDateTime(text: string): Date | undefined {
  if (!dateTimePattern.test(text)) return undefined
  const date = new Date(`${text.replace(' ', 'T')}Z`)
  // `Date` turns a day that its month does not have, and the hour 24, into a later day.
  return date.getUTCDate() === Number(text.slice(8, 10)) ? date : undefined
}

/** Microseconds since 1970, the unit in which the database keeps times. */
export function microsOf(date: Date): bigint {
  return BigInt(date.getTime()) * 1_000n
}

const dayMs = 86_400_000
const twoDigits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'))
// Cached because `toISOString` works out the calendar on each call, and the times of requests fall on few different
// days.
const days = new Map<number, string>()
const maxDays = 1_000

/** `YYYY-MM-DD` of the day that a time lies in. RangeError for a year without four digits. */
function dayOf(ms: number): string {
  const day = Math.floor(ms / dayMs)
  const known = days.get(day)
  if (known !== undefined) return known
  const iso = new Date(day * dayMs).toISOString()
  if (iso.length !== 24) throw new RangeError('the year has no four digits')
  if (days.size >= maxDays) days.clear()
  const text = iso.slice(0, 10)
  days.set(day, text)
  return text
}

/** `HH:mm:ss` of a time. */
function clockOf(ms: number): string {
  const seconds = Math.floor(remainder(ms, dayMs) / 1_000)
  const minutes = Math.floor(seconds / 60)
  return `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`
}

/** The remainder of a division, never negative, also for a time before 1970. */
function remainder(ms: number, partMs: number): number {
  return ms - Math.floor(ms / partMs) * partMs
}
