// Answers whose a key is, with the same work for every refusal; it must not log or keep a key.
import { Failure } from '#core/errors.ts'
import { digestsEqual } from '#core/token.ts'
import type { Queryable } from '#runtime/db.ts'
import type { Environment, Merchant, Project } from './access.ts'
import { type AccountSecrets, keyDigest } from './credentials.ts'
import { findApiKey, findSubscriptionKey } from './key-store.ts'

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
  const digest = keyDigest(secrets, key)
  const found = await findSubscriptionKey(db, digest)
  if (
    found === undefined ||
    !digestsEqual(found.digest, digest) ||
    found.revokedAt !== null ||
    found.environment !== environment
  ) {
    throw new Failure('PW_INVALID_SUBSCRIPTION_KEY', 'the subscription key is not valid')
  }
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
  const digest = keyDigest(secrets, key)
  const found = await findApiKey(db, digest)
  if (
    found === undefined ||
    !digestsEqual(found.digest, digest) ||
    found.revokedAt !== null ||
    found.projectId !== projectId
  ) {
    throw new Failure('PW_INVALID_API_KEY', 'the api_key is not valid')
  }
  const { merchantId, businessName, mobileNumber } = found
  return { merchantId, projectId, businessName, mobileNumber }
}
