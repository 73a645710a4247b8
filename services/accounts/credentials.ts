// Makes keys and turns them into what may be stored: digests and sealed values. It must not store or log one.
import { createHash, randomBytes } from 'node:crypto'
import { newKey } from '#core/id.ts'
import { open, type SealKey, seal } from '#core/seal.ts'
import { hashKey } from '#core/token.ts'
import { type Environment, type InstitutionKey, subscriptionKeyPrefix } from './access.ts'

/** The service's own secrets: the pepper of key digests and the key that seals secrets at rest. */
export type AccountSecrets = { pepper: Buffer; atRest: SealKey }

const keyLength = 32
const atRestPurpose = 'institution-key'

/** Builds the service's secrets from the content of its two secret files, 32 bytes each. */
export function accountSecrets(pepper: Buffer, sealKey: Buffer): AccountSecrets {
  const keyId = createHash('sha256').update(sealKey).digest('hex').slice(0, 8)
  return { pepper, atRest: { keyId, key: sealKey } }
}

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

/** The digest by which a key is stored and found. */
export function keyDigest({ pepper }: AccountSecrets, key: string): Buffer {
  return hashKey(pepper, key)
}

/** Both secrets of an institution's key, sealed for the table. */
export function sealInstitutionKey(
  { atRest }: AccountSecrets,
  { sharedKey, signingSecret }: InstitutionKey,
): { sharedKeySealed: string; signingSecretSealed: string } {
  const sealed = (text: string) => seal(Buffer.from(text), { ...atRest, purpose: atRestPurpose })
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
  { atRest }: AccountSecrets,
  { keyId, sharedKeySealed, signingSecretSealed }: SealedInstitutionKey,
): InstitutionKey {
  const opened = (sealed: string) => {
    const text = open(sealed, [atRest], atRestPurpose)
    if (text === undefined) throw new Error(`key ${keyId} was not sealed under this seal.key`)
    return text.toString()
  }
  return { keyId, sharedKey: opened(sharedKeySealed), signingSecret: opened(signingSecretSealed) }
}
