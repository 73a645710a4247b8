// Seals a client's secrets and a profile's details for their tables, and hashes pins; it must not store or log one.
import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { open, seal } from '#core/seal.ts'
import { hashKey } from '#core/token.ts'
import type { AccountSecrets } from '../credentials.ts'

/** What a sealed value is; one sealed as the one cannot be opened as the other. */
export type SealedThing = 'authorisation-token-at-rest' | 'profile-details' | 'artefact-key'

/** Seals bytes under the service's own key. */
export function sealAtRest({ atRest }: AccountSecrets, thing: SealedThing, bytes: Buffer): string {
  return seal(bytes, { ...atRest, purpose: thing })
}

/** Opens what `sealAtRest` made. Throws when the service's own key is another one by now. */
export function openAtRest({ atRest }: AccountSecrets, thing: SealedThing, sealed: string): Buffer {
  const bytes = open(sealed, [atRest], thing)
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
): Promise<{ salt: Buffer; hash: Buffer }> {
  const salt = randomBytes(saltBytes)
  return { salt, hash: await derive(hashKey(pepper, `pin${pin}`), salt, hashBytes) }
}
