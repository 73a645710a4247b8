// Fingerprints of request bodies, which distinguish a repeat from a conflict.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

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
