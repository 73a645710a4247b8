// Seals a client's secrets and a profile's details for their tables, and hashes pins; it must not store or log one.
import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { open, seal } from '#core/seal.ts'
import { hashKey } from '#core/token.ts'
import type { AccountSecrets } from '../credentials.ts'

/** What a sealed value is; one sealed as the one cannot be opened as the other. */
export type SealedThing = 'authorisation-token-at-rest' | 'profile-details' | 'artefact-key'

/** Seals bytes under the service's own key. */
export function sealAtRest(
  { seal: keys }: AccountSecrets,
  thing: SealedThing,
  bytes: Buffer,
): string {
  return seal(bytes, { ...keys().current, purpose: thing })
}

/** Opens what `sealAtRest` made. Throws when the service's own key is another one by now. */
export function openAtRest(
  { seal: keys }: AccountSecrets,
  thing: SealedThing,
  sealed: string,
): Buffer {
  const bytes = open(sealed, keys().keys, thing)
  if (bytes === undefined) throw new Error(`this ${thing} was not sealed under this seal.key`)
  return bytes
}

const derive = promisify<Buffer, Buffer, number, Buffer>(scrypt)
const hashBytes = 32
const saltBytes = 16

/** A pin as its table row holds it. Peppered, since a million pins are soon tried. */
export async function hashPin(
  { pepper }: AccountSecrets,
  pin: number,
): Promise<{ salt: Buffer; hash: Buffer; pepperId: string }> {
  const salt = randomBytes(saltBytes)
  const { keyId: pepperId, key } = pepper().current
  return { salt, hash: await derive(hashKey(key, `pin${pin}`), salt, hashBytes), pepperId }
}
