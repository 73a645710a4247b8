// Creates business accounts: merchants of a project with credentials that are shown once.
import { randomInt } from 'node:crypto'
import { newId, newKey } from '#core/identity/id.ts'
import { checkDeadline } from '#platform/rpc/context.ts'
import { requireName } from '../../access/domain/access.ts'
import { sealAtRest } from '../../access/domain/at-rest.ts'
import { keyDigest, newApiKey } from '../../access/domain/credentials.ts'
import { existingProject } from '../../access/operations/administer.ts'
import { type Actor, change } from '../../access/operations/change.ts'
import { insertApiKey } from '../../access/store/key-store.ts'
import { insertMerchant } from '../../access/store/project-store.ts'
import { hashPin } from '../domain/pin.ts'
import { insertBusinessOwner } from '../store/business-store.ts'
import type { Customers } from './customers.ts'

/** A business as its client describes it. */
export type NewBusiness = {
  projectId: string
  businessName: string
  firstName: string
  lastName: string
  email: string
  mobileNumber: string
}

/** What a business account is given, once. */
export type BusinessCredentials = {
  merchantId: string
  pin: number
  apiKey: string
  authorisationToken: string
}

const minPin = 100_000
const tokenLength = 32

/**
 * Makes a merchant of the project with its owner and credentials, audited. PROJECT_NOT_FOUND; SERVICE_UNAVAILABLE when too
 * many others wait for their pins; TIMEOUT when the caller stopped waiting meanwhile, who then has no merchant.
 */
export async function createBusinessAccount(
  customers: Customers,
  actor: Actor,
  wanted: NewBusiness,
): Promise<BusinessCredentials> {
  const { secrets } = customers
  const merchant = {
    projectId: wanted.projectId,
    merchantId: newId(),
    businessName: requireName(wanted.businessName, 'business_name'),
    mobileNumber: wanted.mobileNumber,
  }
  const owner = {
    firstName: wanted.firstName,
    lastName: wanted.lastName,
    email: wanted.email,
  }
  const { projectId, merchantId } = merchant
  const pin = randomInt(minPin, minPin * 10)
  const apiKey = newApiKey()
  const authorisationToken = newKey('', tokenLength)
  const hashed = await hashPin(secrets, pin, { projectId, checkDeadline })
  const { salt: pinSalt, hash: pinHash, pepperId: pinPepperId } = hashed
  const authorisationTokenSealed = sealAtRest(
    secrets,
    {
      column: 'business_owner.authorisation_token_sealed',
      rowId: `${projectId}/${merchantId}`,
    },
    Buffer.from(authorisationToken),
  )
  const result = { merchantId, pin, apiKey, authorisationToken }
  // Its credentials would reach nobody.
  checkDeadline()
  return change(customers, actor, async (tx) => {
    await existingProject(tx, projectId)
    await insertMerchant(tx, merchant)
    const keyId = newId()
    await insertApiKey(tx, keyId, merchant, keyDigest(secrets, apiKey))
    await insertBusinessOwner(tx, {
      projectId,
      merchantId,
      ...owner,
      pinSalt,
      pinHash,
      pinPepperId,
      authorisationTokenSealed,
    })
    const action = 'create_business_account'
    return { action, targetId: merchantId, projectId, details: { key_id: keyId }, result }
  })
}
