// Hashes the pins of business accounts; never logs one.

import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { hashKey } from '#core/identity/digest.ts'
import type { AccountSecrets } from '../../access/domain/at-rest.ts'

const derive = promisify<Buffer, Buffer, number, Buffer>(scrypt)
const hashBytes = 32
const saltBytes = 16

let previous: Promise<unknown> = Promise.resolve()

/** One at a time, of all of the process: many at once take the processors from the calls that wait for nothing but an answer. */
function deriveAlone(secret: Buffer, salt: Buffer): Promise<Buffer> {
  const hash = previous.then(() => derive(secret, salt, hashBytes))
  previous = hash.catch(() => undefined)
  return hash
}

/** A pin as its table row holds it, with the id of its pepper. Peppered, since a million pins are soon tried. */
export async function hashPin(
  { pepper }: AccountSecrets,
  pin: number,
): Promise<{ salt: Buffer; hash: Buffer; pepperId: string }> {
  const salt = randomBytes(saltBytes)
  const { keyId: pepperId, key } = pepper().current
  return { salt, hash: await deriveAlone(hashKey(key, `pin${pin}`), salt), pepperId }
}
