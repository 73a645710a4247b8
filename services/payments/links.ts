// The secrets of a payer's share that are derived from its id: link token and cash code; it must not store them.
import { deriveToken, hashToken } from '#core/token.ts'

const linkPurpose = 'payment-link'
const cashPurpose = 'payment-cash-code'
const cashCodes = 10n ** 12n

/** The token in a payer's link; the same one each time. */
export function linkToken(key: Buffer, payerId: string): string {
  return deriveToken(key, linkPurpose, payerId)
}

/** What is stored of the token, to find the payer by. */
export function linkTokenHash(token: string): Buffer {
  return hashToken(token)
}

/** The twelve digits by which an agent collects a payer's share. */
export function cashCode(key: Buffer, payerId: string): string {
  const bytes = Buffer.from(deriveToken(key, cashPurpose, payerId), 'base64url')
  return String(bytes.readBigUInt64BE() % cashCodes).padStart(12, '0')
}
