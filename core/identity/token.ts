// Derives tokens and hashes keys so that neither is stored.
import {
  createHash,
  createHmac,
  createSecretKey,
  type Hmac,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto'
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
