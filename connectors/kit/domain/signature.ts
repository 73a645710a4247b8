// Verifies the signature of a provider's webhook: an HMAC-SHA256 of time and body in one header. Pure.
import { createHmac, timingSafeEqual } from 'node:crypto'

/** How a provider signs. */
export type SignatureScheme = {
  /** Name of the header, in lower case. Its value has the form `t=<seconds>,v1=<hex>`; v1 may stand there several times. */
  header: string
  /** The secrets that are valid, several while one is replaced. */
  secrets: readonly string[]
  /** How old a signature may be, and how far ahead of our clock. */
  toleranceS: number
  /** Verifies one secret in place of the HMAC, as the provider's own library does it: whether it has signed this body. */
  verify?: (value: string, body: Uint8Array, secret: string, toleranceS: number) => boolean
}

/** Whether one of the secrets has signed this body at a time that is near `nowMs`. */
export function isSigned(
  { secrets, toleranceS, verify }: SignatureScheme,
  value: string,
  body: Uint8Array,
  nowMs: number,
): boolean {
  if (verify !== undefined) return secrets.some((secret) => verify(value, body, secret, toleranceS))
  const parts = value.split(',').map((part) => part.trim().split('=', 2))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  if (!/^\d{1,12}$/.test(time) || Math.abs(nowMs / 1_000 - Number(time)) > toleranceS) return false
  const given = parts
    .filter(([name]) => name === 'v1')
    .map(([, hex = '']) => Buffer.from(hex, 'hex'))
  return secrets.some((secret) => {
    const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
    return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected))
  })
}

/** The value of the header, for tests and for providers that are simulated. */
export function signatureOf(secret: string, body: Uint8Array, nowMs: number): string {
  const time = Math.floor(nowMs / 1_000)
  const mac = createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')
  return `t=${time},v1=${mac}`
}
