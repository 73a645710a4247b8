// Fingerprints of request bodies, which distinguish a repeat from a conflict.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

/** SHA-256 of the RFC 8785 form of a JSON value; the order of keys does not matter. */
export function fingerprint(value: unknown): Buffer {
  const canonical = isCanonical(value) ? JSON.stringify(value) : canonicalize(value)
  if (canonical === undefined) throw new TypeError('the value has no JSON form')
  return hash('sha256', canonical, 'buffer')
}

/**
 * Whether the language itself prints a value in its RFC 8785 form, which sorts keys and refuses some values but else
 * writes numbers and texts as the language does. A false no costs time alone.
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
