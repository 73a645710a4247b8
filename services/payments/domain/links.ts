// Derives the secrets of a payer's share from its id: link token and cash code. They are never stored.
import { Failure } from '#core/errors/errors.ts'
import type { KeyRing } from '#core/identity/key-ring.ts'
import { deriveToken, hashToken } from '#core/identity/token.ts'
import type { Payer } from './payment.ts'

const linkPurpose = 'payment-link'
const cashPurpose = 'payment-cash-code'
const cashCodes = 10n ** 12n

/** The token in a payer's link; the same one each time under one key. */
export function linkToken(key: Buffer, payerId: string): string {
  return deriveToken(key, linkPurpose, payerId)
}

/** The token in the link of a stored payer; empty when its key was retired, since the token cannot be made again. */
export function linkTokenOf(
  keys: KeyRing,
  { payerId, linkKeyId }: Pick<Payer, 'payerId' | 'linkKeyId'>,
): string {
  const key = keys.find(linkKeyId)
  return key === undefined ? '' : linkToken(key.key, payerId)
}

/** What is stored of the token, to find the payer by. */
export function linkTokenHash(token: string): Buffer {
  return hashToken(token)
}

/** The twelve digits by which an agent collects a payer's share. INTERNAL_ERROR when their key was retired. */
export function cashCode(
  keys: KeyRing,
  { payerId, linkKeyId }: Pick<Payer, 'payerId' | 'linkKeyId'>,
): string {
  const key = keys.find(linkKeyId)
  if (key === undefined) {
    throw new Failure('INTERNAL_ERROR', `the key of the cash code of payer ${payerId} was retired`)
  }
  const bytes = Buffer.from(deriveToken(key.key, cashPurpose, payerId), 'base64url')
  return String(bytes.readBigUInt64BE() % cashCodes).padStart(12, '0')
}
