// Generates keys and the digests and sealed values under which they are stored; never logs one.
import { randomBytes } from 'node:crypto'
import { hashKey } from '#core/identity/digest.ts'
import { newKey } from '#core/identity/id.ts'
import type { KeySource, KeyState } from '#core/identity/key-ring.ts'
import { type Environment, type InstitutionKey, subscriptionKeyPrefix } from './access.ts'
import { type AccountSecrets, openAtRest, type SealedCell, sealAtRest } from './at-rest.ts'

/** The files that hold them. */
export const accountKeyFiles = ['pepper', 'seal.key'] as const

/** The service's secrets out of its opened files. */
export function accountSecrets(
  keys: Record<(typeof accountKeyFiles)[number], KeySource>,
): AccountSecrets {
  return { pepper: keys.pepper, seal: keys['seal.key'] }
}

const keyLength = 32

/** A new subscription key: 32 characters, of which the first ones show the environment. */
export function newSubscriptionKey(environment: Environment): string {
  return newKey(subscriptionKeyPrefix[environment], keyLength)
}

/** A new API key, 32 base62 characters. */
export function newApiKey(): string {
  return newKey('', keyLength)
}

/** New key material for an institution: an AES-256 key with its id and a signing secret. */
export function newInstitutionKey(): InstitutionKey {
  return {
    keyId: randomBytes(4).toString('hex'),
    sharedKey: randomBytes(32).toString('base64'),
    signingSecret: newKey('pws_sign_', 48),
  }
}

/** The form in which a key is stored: its digest, and the id of the pepper under which it was made. */
export type KeyDigest = { digest: Buffer; pepperId: string }

/** The digest by which a new key is stored: under the current pepper. */
export function keyDigest({ pepper }: Pick<AccountSecrets, 'pepper'>, key: string): KeyDigest {
  const { keyId, key: bytes } = pepper().current
  return { digest: hashKey(bytes, key), pepperId: keyId }
}

/** A digest by which a key may be stored. */
export type PossibleDigest = KeyDigest & { state: KeyState }

/**
 * Every digest by which a key may be stored, the current pepper's first. All are made for every key, known or not, so
 * that the response time does not reveal whether a key is known.
 */
export function keyDigests(
  { pepper }: Pick<AccountSecrets, 'pepper'>,
  key: string,
): PossibleDigest[] {
  return pepper().keys.map(({ keyId, key: bytes, state }) => ({
    digest: hashKey(bytes, key),
    pepperId: keyId,
    state,
  }))
}

/** Both secrets of an institution's key, sealed for the row of its id. */
export function sealInstitutionKey(
  secrets: AccountSecrets,
  { keyId, sharedKey, signingSecret }: InstitutionKey,
): SealedInstitutionKey {
  const cells = cellsOf(keyId)
  return {
    keyId,
    sharedKeySealed: sealAtRest(secrets, cells.sharedKey, Buffer.from(sharedKey)),
    signingSecretSealed: sealAtRest(secrets, cells.signingSecret, Buffer.from(signingSecret)),
  }
}

/** An institution's key as its table row holds it. */
export type SealedInstitutionKey = {
  keyId: string
  sharedKeySealed: string
  signingSecretSealed: string
}

/** Opens what `sealInstitutionKey` made. Throws when it was made for another row, or the service's key is gone. */
export function openInstitutionKey(
  secrets: AccountSecrets,
  { keyId, sharedKeySealed, signingSecretSealed }: SealedInstitutionKey,
): InstitutionKey {
  const cells = cellsOf(keyId)
  return {
    keyId,
    sharedKey: openAtRest(secrets, cells.sharedKey, sharedKeySealed).toString(),
    signingSecret: openAtRest(secrets, cells.signingSecret, signingSecretSealed).toString(),
  }
}

function cellsOf(rowId: string): Record<'sharedKey' | 'signingSecret', SealedCell> {
  return {
    sharedKey: { column: 'institution_key.shared_key_sealed', rowId },
    signingSecret: { column: 'institution_key.signing_secret_sealed', rowId },
  }
}
