// Issues and revokes subscription keys and API keys, and creates merchants. A key is shown once.
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Queryable } from '#platform/db/db.ts'
import { type Merchant, maxActiveKeys, requireName } from '../domain/access.ts'
import { keyDigest, newApiKey, newSubscriptionKey } from '../domain/credentials.ts'
import {
  countActiveApiKeys,
  countActiveKeys,
  insertApiKey,
  insertSubscriptionKey,
  type KeyRef,
  markApiKeyRevoked,
  markSubscriptionKeyRevoked,
  type RevokedKey,
} from '../store/key-store.ts'
import { findMerchant, insertMerchant } from '../store/project-store.ts'
import { existingProject } from './administer.ts'
import { type Actor, type Administration, change } from './change.ts'

/** Issues a subscription key; the key itself is in this answer and nowhere else. */
export async function issueSubscriptionKey(
  administration: Administration,
  actor: Actor,
  projectId: string,
): Promise<{ keyId: string; subscriptionKey: string; issuedAt: Date }> {
  const action = 'issue_subscription_key'
  const issue = async (tx: Queryable) => {
    const project = await existingProject(tx, projectId)
    if ((await countActiveKeys(tx, projectId)) >= maxActiveKeys) {
      throw new Failure('TOO_MANY_KEYS', `project ${projectId} has ${maxActiveKeys} active keys`)
    }
    const keyId = newId()
    const subscriptionKey = newSubscriptionKey(project.environment)
    const digest = keyDigest(administration.secrets, subscriptionKey)
    const issuedAt = await insertSubscriptionKey(tx, keyId, projectId, digest)
    if (issuedAt === undefined) throw new Error('a new subscription key met an old one')
    const result = { keyId, subscriptionKey, issuedAt }
    return { action, targetId: keyId, projectId, details: { key_id: keyId }, result }
  }
  return change(administration, actor, issue, { content: [action, projectId] })
}

async function revoke(
  administration: Administration,
  actor: Actor,
  action: string,
  key: KeyRef,
  statement: (tx: Queryable, key: KeyRef) => Promise<RevokedKey | undefined>,
): Promise<Date> {
  const { keyId } = key
  return change(administration, actor, async (tx) => {
    const revoked = await statement(tx, key)
    if (revoked === undefined) throw new Failure('KEY_NOT_FOUND', `no key ${keyId}`)
    const { projectId, revokedAt, isRepeat } = revoked
    return { action, targetId: keyId, projectId, isRepeat, result: revokedAt }
  })
}

/** Revokes a subscription key. A repeat keeps the time of the first call. */
export async function revokeSubscriptionKey(
  administration: Administration,
  actor: Actor,
  key: KeyRef,
): Promise<Date> {
  return revoke(administration, actor, 'revoke_subscription_key', key, markSubscriptionKeyRevoked)
}

/** Revokes an API key. A repeat keeps the time of the first call. */
export async function revokeApiKey(
  administration: Administration,
  actor: Actor,
  key: KeyRef,
): Promise<Date> {
  return revoke(administration, actor, 'revoke_api_key', key, markApiKeyRevoked)
}

/** Makes a merchant with its API key; the key itself is in this answer and nowhere else. */
export async function createMerchant(
  administration: Administration,
  actor: Actor,
  wanted: Omit<Merchant, 'merchantId'>,
): Promise<{ merchant: Merchant; keyId: string; apiKey: string }> {
  const merchant = {
    projectId: wanted.projectId,
    merchantId: newId(),
    businessName: requireName(wanted.businessName, 'business_name'),
    mobileNumber: wanted.mobileNumber,
  }
  const action = 'create_merchant'
  const make = async (tx: Queryable) => {
    const { projectId } = await existingProject(tx, merchant.projectId)
    await insertMerchant(tx, merchant)
    const { keyId, apiKey } = await addApiKey(administration, tx, merchant)
    const result = { merchant, keyId, apiKey }
    const details = { key_id: keyId }
    return { action, targetId: merchant.merchantId, projectId, details, result }
  }
  return change(administration, actor, make, { content: [action, wanted] })
}

/** Issues another API key for a merchant; the key itself is in this answer and nowhere else. */
export async function issueApiKey(
  administration: Administration,
  actor: Actor,
  projectId: string,
  merchantId: string,
): Promise<{ keyId: string; apiKey: string; issuedAt: Date }> {
  const action = 'issue_api_key'
  const issue = async (tx: Queryable) => {
    await existingProject(tx, projectId)
    const merchant = await findMerchant(tx, projectId, merchantId)
    if (merchant === undefined) {
      throw new Failure('MERCHANT_NOT_FOUND', `project has no merchant ${merchantId}`)
    }
    if ((await countActiveApiKeys(tx, merchant)) >= maxActiveKeys) {
      throw new Failure('TOO_MANY_KEYS', `merchant ${merchantId} has ${maxActiveKeys} active keys`)
    }
    const result = await addApiKey(administration, tx, merchant)
    const { keyId } = result
    return { action, targetId: keyId, projectId, details: { key_id: keyId }, result }
  }
  return change(administration, actor, issue, { content: [action, projectId, merchantId] })
}

async function addApiKey(
  { secrets }: Administration,
  tx: Queryable,
  merchant: Merchant,
): Promise<{ keyId: string; apiKey: string; issuedAt: Date }> {
  const keyId = newId()
  const apiKey = newApiKey()
  const issuedAt = await insertApiKey(tx, keyId, merchant, keyDigest(secrets, apiKey))
  if (issuedAt === undefined) throw new Error('a new API key met an old one')
  return { keyId, apiKey, issuedAt }
}
