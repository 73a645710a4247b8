// Hashes the pins of business accounts; never logs one.

import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { Failure } from '#core/errors/errors.ts'
import { hashKey } from '#core/identity/digest.ts'
import type { AccountSecrets } from '../../access/domain/at-rest.ts'

const derive = promisify<Buffer, Buffer, number, Buffer>(scrypt)
const hashBytes = 32
const saltBytes = 16

/** Above these, pins wait longer than their callers do. */
const maxQueued = 32
/** A project cannot fill the queue alone. */
const maxQueuedOfProject = 16

/** The projects of the derivations that wait or run, in their order. */
const queue: string[] = []
let previous: Promise<unknown> = Promise.resolve()

/** The project whose pin is hashed, and the deadline of its call. */
export type PinOwner = {
  projectId: string
  /** Throws when the caller has stopped waiting: the pin is then not hashed. */
  checkDeadline(): void
}

/** Runs one scrypt at a time per process, so that hashing does not starve other calls of CPU. */
function deriveAlone(
  secret: Buffer,
  salt: Buffer,
  { projectId, checkDeadline }: PinOwner,
): Promise<Buffer> {
  const ofProject = queue.filter((queued) => queued === projectId).length
  if (queue.length >= maxQueued || ofProject >= maxQueuedOfProject) {
    throw new Failure('SERVICE_UNAVAILABLE', 'too many business accounts wait to be created')
  }
  queue.push(projectId)
  const hash = previous
    .then(() => {
      checkDeadline()
      return derive(secret, salt, hashBytes)
    })
    .finally(() => queue.shift())
  previous = hash.catch(() => undefined)
  return hash
}

/**
 * A pin as its table row holds it, with the id of its pepper. Peppered, since a million pins are soon tried.
 * SERVICE_UNAVAILABLE when too many others wait, of all projects or of this one.
 */
export async function hashPin(
  { pepper }: AccountSecrets,
  pin: number,
  owner: PinOwner,
): Promise<{ salt: Buffer; hash: Buffer; pepperId: string }> {
  const salt = randomBytes(saltBytes)
  const { keyId: pepperId, key } = pepper().current
  return { salt, hash: await deriveAlone(hashKey(key, `pin${pin}`), salt, owner), pepperId }
}
