// Decides what the API log keeps of an id that a client chose: ids may be searched for, numbers of people and cards may not be in it.
import { isUuid } from '../identity/id.ts'

const idPattern = /^[\w.:/#-]{1,64}$/
// Seven digits or more, with what people write between the digits of phone and card numbers.
const longNumber = /\d(?:[._:/#-]?\d){6,}/g
const shownDigits = 4

/**
 * The id as the API log keeps it: a UUID whole, other ids with each number of seven or more digits cut to its last four.
 * Undefined for a text that has not the form of an id: 1 to 64 letters, digits and `_.:/#-`.
 */
export function loggedId(text: string): string | undefined {
  if (isUuid(text)) return text
  if (!idPattern.test(text)) return undefined
  return text.replaceAll(longNumber, (number) => `***${number.slice(-shownDigits)}`)
}
