// Decides what the API log keeps of an id that a client chose: ids may be searched for, numbers of people and cards may not be in it.
import { isUuid } from '../identity/id.ts'
import { contractVersions } from './contract-version.ts'

const idPattern = /^[\w.:/#-]{1,64}$/
// Seven digits or more, with what people write between the digits of phone and card numbers.
const longNumber = /\d(?:[._:/#-]?\d){6,}/g
const shownDigits = 4
// A key or token of ours in the place of an id: ids are no mix of capitals and small letters as long as a key.
const keyLike = /pw[ks]_|(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{28}/

/**
 * The id as the API log keeps it: a UUID and a contract version whole, other ids with each number of seven or more digits cut to its last four.
 * Undefined for a text that has not the form of an id, 1 to 64 letters, digits and `_.:/#-`, or that looks like a key.
 */
export function loggedId(text: string): string | undefined {
  if (isUuid(text) || contractVersions.some((version) => version === text)) return text
  if (!idPattern.test(text) || keyLike.test(text)) return undefined
  return text.replaceAll(longNumber, (number) => `***${number.slice(-shownDigits)}`)
}

const shownId = /^(?:[\w.:/#-]|\*{3}(?=[\d._:/#-]{3}\d)){1,64}$/

/**
 * The id that a search of the API log compares: `text` is the id as the client sent it, or as the log shows it, with its numbers already cut.
 * Undefined for a text that the log cannot hold.
 */
export function searchedId(text: string): string | undefined {
  return text.includes('***') && shownId.test(text) ? text : loggedId(text)
}
