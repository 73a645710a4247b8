// Makes keys and turns them into what may be stored: digests and sealed values. It must not store or log one.
import { randomBytes } from 'node:crypto'
import { newKey } from '#core/id.ts'
import type { KeySource, KeyState } from '#core/key-ring.ts'
import { open, seal } from '#core/seal.ts'
import { hashKey } from '#core/token.ts'
import { type Environment, type InstitutionKey, subscriptionKeyPrefix } from './access.ts'

/** The service's own secrets: the peppers of key digests and the keys that seal secrets at rest. */
export type AccountSecrets = { pepper: KeySource; seal: KeySource }

/** The files that hold them. */
export const accountKeyFiles = ['pepper', 'seal.key'] as const

/** The service's secrets out of its opened files. */
export function accountSecrets(
  keys: Record<(typeof accountKeyFiles)[number], KeySource>,
): AccountSecrets {
  return { pepper: keys.pepper, seal: keys['seal.key'] }
}

const keyLength = 32
const atRestPurpose = 'institution-key'

/** A new subscription key: 32 characters, its beginning telling the environment. */
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
 * that the time tells nothing.
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

/** Both secrets of an institution's key, sealed for the table. */
export function sealInstitutionKey(
  { seal: keys }: AccountSecrets,
  { sharedKey, signingSecret }: InstitutionKey,
): { sharedKeySealed: string; signingSecretSealed: string } {
  const { current } = keys()
  const sealed = (text: string) => seal(Buffer.from(text), { ...current, purpose: atRestPurpose })
  return { sharedKeySealed: sealed(sharedKey), signingSecretSealed: sealed(signingSecret) }
}

/** An institution's key as its table row holds it. */
export type SealedInstitutionKey = {
  keyId: string
  sharedKeySealed: string
  signingSecretSealed: string
}

/** Opens what `sealInstitutionKey` made. Throws when the service's own key is another one by now. */
export function openInstitutionKey(
  { seal: keys }: AccountSecrets,
  { keyId, sharedKeySealed, signingSecretSealed }: SealedInstitutionKey,
): InstitutionKey {
  const opened = (sealed: string) => {
    const text = open(sealed, keys().keys, atRestPurpose)
    if (text === undefined) throw new Error(`key ${keyId} was not sealed under this seal.key`)
    return text.toString()
  }
  return { keyId, sharedKey: opened(sharedKeySealed), signingSecret: opened(signingSecretSealed) }
}
