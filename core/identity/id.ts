// Generates and recognises identifiers and random keys.
import { hash, randomBytes, randomUUID } from 'node:crypto'

/** Digits and both cases of letters, for keys. */
export const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Digits and capitals, for codes that people read aloud. */
export const upperAlphanumeric = base62.slice(0, 36)

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * A new UUID v7 in lower case, of a time in milliseconds since 1970. Rows made one after the other lie side by side in
 * their indexes, and 74 random bits keep the id unguessable. Ids of the same millisecond have no order.
 */
export function newId(nowMs: number = Date.now()): string {
  const time = nowMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/** The smallest UUID of a time in milliseconds since 1970, from 0 to 2^48 - 1: every `newId` of that time or later is larger. */
export function firstIdOf(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

/** The time that a UUID v7 holds, in milliseconds since 1970. */
export function idTimeMs(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** A new UUID v4 in lower case, for ids whose time of making must not show or does not matter. */
export function randomId(): string {
  return randomUUID()
}

/** A UUID that its parts determine: version 8 of RFC 9562, over the SHA-256 of the parts, which contain no NUL. */
export function namedUuid(...parts: string[]): string {
  const hex = hash('sha256', parts.join('\u0000'))
  const variant = (0x8 | (Number.parseInt(hex.charAt(16), 16) & 0x3)).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns whether a text is a UUID in the form of RFC 9562, of any version and in either case. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text)
}

/**
 * A random key of `length` characters in all, `prefix` included. Bytes past the last whole multiple of the alphabet are
 * discarded, so that every character is equally likely. The alphabet has at most 256 characters.
 */
export function newKey(prefix: string, length: number, alphabet: string = base62): string {
  const fairBytes = 256 - (256 % alphabet.length)
  let key = prefix
  while (key.length < length) {
    for (const byte of randomBytes(length - key.length)) {
      if (byte < fairBytes) key += alphabet[byte % alphabet.length]
    }
  }
  return key
}
