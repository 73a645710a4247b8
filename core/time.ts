// Prints and reads the two time formats of the contract, always in UTC; it must not read a clock.

const dateTimePattern = /^(?!0000)\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/

/** `YYYY-MM-DD HH:mm:ss` in UTC; milliseconds are cut off. Years 1 to 9999. */
export function formatDateTime(date: Date): string {
  return formatIso(date).slice(0, 19).replace('T', ' ')
}

/** ISO 8601 in UTC with milliseconds and Z. Years 1 to 9999. */
export function formatIso(date: Date): string {
  const iso = date.toISOString()
  if (iso.length !== 24) throw new RangeError('the year has no four digits')
  return iso
}

/** Reads `YYYY-MM-DD HH:mm:ss` as UTC; undefined unless it has this very form and is a real date. */
export function parseDateTime(text: string): Date | undefined {
  if (!dateTimePattern.test(text)) return undefined
  const date = new Date(`${text.replace(' ', 'T')}Z`)
  if (Number.isNaN(date.getTime())) return undefined
  return formatDateTime(date) === text ? date : undefined
}
