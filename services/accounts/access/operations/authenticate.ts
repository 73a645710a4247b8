// Finds the owner of a key, with the same work for every refusal, and moves the digest of a valid key to the newest pepper.
// Keys are never logged or stored.

import { Failure } from '#core/errors/errors.ts'
import { digestsEqual } from '#core/identity/digest.ts'
import type { Queryable } from '#platform/db/db.ts'
import type { Environment, Merchant, Project } from '../domain/access.ts'
import type { AccountSecrets } from '../domain/at-rest.ts'
import { keyDigests, type PossibleDigest } from '../domain/credentials.ts'
import { findApiKey, findSubscriptionKey, moveDigest } from '../store/key-store.ts'

/**
 * Opens a project by subscription key. PW_INVALID_SUBSCRIPTION_KEY for a missing, unknown, revoked
 * or wrong-environment key: one look-up and one answer for all of them.
 */
export async function authenticateSubscriptionKey(
  db: Queryable,
  secrets: AccountSecrets,
  key: string,
  environment: Environment,
): Promise<{ project: Project; keyId: string }> {
  const digests = keyDigests(secrets, key)
  const found = await findSubscriptionKey(db, digests)
  if (
    found === undefined ||
    !isOneOf(found.digest, digests) ||
    found.revokedAt !== null ||
    found.environment !== environment
  ) {
    throw new Failure('PW_INVALID_SUBSCRIPTION_KEY', 'the subscription key is not valid')
  }
  await moveToNewestPepper(db, 'subscription_key', found, digests)
  const { keyId, projectId, name, accountAccess, allowedIps } = found
  return { project: { projectId, name, environment, accountAccess, allowedIps }, keyId }
}

/** Finds the merchant of an API key within a project, or refuses with PW_INVALID_API_KEY. */
export async function authenticateApiKey(
  db: Queryable,
  secrets: AccountSecrets,
  projectId: string,
  key: string,
): Promise<Merchant> {
  const digests = keyDigests(secrets, key)
  const found = await findApiKey(db, digests)
  if (
    found === undefined ||
    !isOneOf(found.digest, digests) ||
    found.revokedAt !== null ||
    found.projectId !== projectId
  ) {
    throw new Failure('PW_INVALID_API_KEY', 'the api_key is not valid')
  }
  await moveToNewestPepper(db, 'api_key', found, digests)
  const { merchantId, businessName, mobileNumber } = found
  return { merchantId, projectId, businessName, mobileNumber }
}

/** Compares with all digests, so that the response time does not show which one matched. */
function isOneOf(stored: Buffer, digests: readonly PossibleDigest[]): boolean {
  return digests.map(({ digest }) => digestsEqual(stored, digest)).includes(true)
}

/**
 * Stores the digest of a key under the newest pepper: once for each key and rotation, and never under a pepper that other
 * replicas no longer use. If that fails, the key stays valid under its old pepper, and its next use tries again.
 */
async function moveToNewestPepper(
  db: Queryable,
  table: Parameters<typeof moveDigest>[1],
  found: { keyId: string; digest: Buffer },
  digests: readonly PossibleDigest[],
): Promise<void> {
  const [newest, ...others] = digests
  const under = others.find(({ digest }) => digestsEqual(found.digest, digest))
  if (newest === undefined || under?.state !== 'old') return
  await moveDigest(db, table, found, newest).catch(() => undefined)
}
