// Signs and reads JWTs as compact JWS with Ed25519 (RFC 7515, 7519, 8037). Synchronous, which the admission of a call has to be.

import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** A private key and the id that its tokens name. */
export interface SigningKey {
  key: KeyObject
  keyId: string
}

/** A token whose signature is not verified yet. */
export interface UnverifiedJwt {
  keyId: string
  claims: Record<string, unknown>
  /** Whether the signature is by the private half of this Ed25519 key; false for any other signature. */
  isSignedBy(key: KeyObject): boolean
}

const algorithm = 'EdDSA'

/** A compact JWS: header, payload and signature. */
export function signJwt({ key, keyId }: SigningKey, claims: object): string {
  const signed = `${encode({ alg: algorithm, typ: 'JWT', kid: keyId })}.${encode(claims)}`
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
}

/**
 * Reads a compact JWS; undefined for any other text, another algorithm, no `kid`, or a header that demands an
 * extension (`crit`).
 */
export function readJwt(token: string): UnverifiedJwt | undefined {
  const [header, payload, signature, ...rest] = token.split('.')
  if (header === undefined || payload === undefined || signature === undefined) return undefined
  if (rest.length > 0) return undefined
  const { alg, kid, crit } = decode(header) ?? {}
  const claims = decode(payload)
  if (alg !== algorithm || typeof kid !== 'string' || crit !== undefined) return undefined
  if (claims === undefined) return undefined
  const signed = Buffer.from(`${header}.${payload}`)
  return {
    keyId: kid,
    claims,
    isSignedBy: (key) => verify(null, signed, key, Buffer.from(signature, 'base64url')),
  }
}

/** The id of an Ed25519 key, the same for the private and the public one: its JWK thumbprint (RFC 7638). */
export function keyIdOf(key: KeyObject): string {
  const { crv, kty, x } = (key.type === 'private' ? createPublicKey(key) : key).export({
    format: 'jwk',
  })
  return createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url')
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Undefined for what is no object. */
function decode(part: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof parsed === 'object' && parsed !== null
      ? (parsed as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
