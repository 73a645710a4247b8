// Fingerprints of request bodies, by which a repeat is told from a conflict; it must not choose the fields.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

/** SHA-256 of the RFC 8785 form of a JSON value; the order of keys does not matter. */
export function fingerprint(value: unknown): Buffer {
  const canonical = canonicalize(value)
  if (canonical === undefined) throw new TypeError('the value has no JSON form')
  return hash('sha256', canonical, 'buffer')
}
