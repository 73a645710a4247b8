// Derives the secrets of a payer's share from its id: link token and cash code. They are never stored.
import { Failure } from '#core/errors/errors.ts'
import { deriveToken, digestsEqual, hashToken } from '#core/identity/digest.ts'
import type { KeyRing } from '#core/identity/key-ring.ts'
import type { Payer } from './payment.ts'

const linkPurpose = 'payment-link'
const cashPurpose = 'payment-cash-code'
const receiptPurpose = 'payment-receipt'
/** Base64url of the 16 bytes of a UUID, and of the first 162 bits of a MAC. */
const receiptTokenPattern = /^([\w-]{22})([\w-]{27})$/
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

/**
 * The token in the link of a receipt: the receipt's id with a MAC. The key of the MAC is the stored hash of the payer's link token,
 * so the link of the receipt works after `link.key` was retired, and does not reveal the link that pays.
 */
export function receiptToken(receiptId: string, payerLinkHash: Buffer): string {
  const id = Buffer.from(receiptId.replaceAll('-', ''), 'hex').toString('base64url')
  return `${id}${deriveToken(payerLinkHash, receiptPurpose, receiptId).slice(0, 27)}`
}

/** The receipt that a token names; undefined for a text that is no such token. `isReceiptToken` must follow. */
export function receiptIdOf(token: string): string | undefined {
  const [, id = ''] = receiptTokenPattern.exec(token) ?? []
  if (id === '') return undefined
  const hex = Buffer.from(id, 'base64url').toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Whether we made a token for a receipt. */
export function isReceiptToken(token: string, receiptId: string, payerLinkHash: Buffer): boolean {
  return digestsEqual(Buffer.from(token), Buffer.from(receiptToken(receiptId, payerLinkHash)))
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
