// Digests: fingerprints of request bodies, which distinguish a repeat from a conflict; tokens and keys, so that neither is stored.
import {
  createHash,
  createHmac,
  createSecretKey,
  type Hmac,
  hash,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto'
import canonicalize from 'canonicalize'
import { isUuid } from './id.ts'

/**
 * The token of a row: 43 characters, base64url of HMAC-SHA-256 over purpose ‖ row id. A repeat of a request can show it
 * again although only its hash is stored. Since the id has a fixed length, two purposes cannot collide. Throws
 * RangeError for a row id that is not a UUID.
 */
export function deriveToken(key: Buffer, purpose: string, rowId: string): string {
  if (!isUuid(rowId)) throw new RangeError('a token is derived from a row whose id is a UUID')
  return hmac(key).update(`${purpose}${rowId.toLowerCase()}`).digest('base64url')
}

/** The 32 bytes of SHA-256 of a token. A token is random enough to need no pepper. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** The 32 bytes of HMAC-SHA-256 of a key under the pepper, the only form in which keys are stored. */
export function hashKey(pepper: Buffer, key: string): Buffer {
  return hmac(pepper).update(key).digest()
}

// Importing a key from its bytes costs four times the digest itself, so it is done once for each buffer.
const keyObjects = new WeakMap<Buffer, KeyObject>()

function hmac(key: Buffer): Hmac {
  let object = keyObjects.get(key)
  if (object === undefined) {
    object = createSecretKey(key)
    keyObjects.set(key, object)
  }
  return createHmac('sha256', object)
}

/** Compares two digests in constant time; digests of different lengths are unequal. */
export function digestsEqual(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}

/**
 * The 32 bytes of SHA-256 over the RFC 8785 form of a JSON value; the order of keys does not matter. Throws TypeError
 * for a value without a JSON form (undefined, a function), and an Error for NaN, an infinity or a lone surrogate.
 */
export function fingerprint(value: unknown): Buffer {
  const canonical = isCanonical(value) ? JSON.stringify(value) : canonicalize(value)
  if (canonical === undefined) throw new TypeError('the value has no JSON form')
  return hash('sha256', canonical, 'buffer')
}

/**
 * Whether `JSON.stringify` prints a value in its RFC 8785 form. That form sorts keys and refuses some values, but
 * writes numbers and texts as the language does. A false negative costs time only: the value then takes the slow path.
 */
function isCanonical(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed()
    case 'number':
      return Number.isFinite(value)
    case 'boolean':
      return true
    case 'object':
      return value === null || (Array.isArray(value) ? value.every(isCanonical) : isSorted(value))
    default:
      return false
  }
}

function isSorted(value: object): boolean {
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false
  let before = ''
  for (const key in value) {
    if (before > key || !key.isWellFormed()) return false
    if (!isCanonical((value as Record<string, unknown>)[key])) return false
    before = key
  }
  return true
}
