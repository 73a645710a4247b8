// Maps payweave.accounts.v1.AccessService to the domain and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { currentContext } from '#platform/rpc/context.ts'
import {
  type Administration,
  changeProjectAccess,
  createInstitution,
  createProject,
  grantEndpoints,
  revokeGrants,
  rotateInstitutionKey,
} from '../operations/administer.ts'
import {
  createMerchant,
  issueApiKey,
  issueSubscriptionKey,
  revokeApiKey,
  revokeSubscriptionKey,
} from '../operations/administer-keys.ts'
import { authenticateApiKey, authenticateSubscriptionKey } from '../operations/authenticate.ts'
import { updateBranding } from '../operations/branding.ts'
import { actor } from '../operations/change.ts'
import { signingSecrets } from '../operations/institution-keys.ts'
import { findBrandedMerchant, findLogo } from '../store/branding-store.ts'
import { findGrant } from '../store/institution-store.ts'
import type { KeyRef } from '../store/key-store.ts'
import { accessLists } from './lists.ts'
import { environmentOf, wireProject } from './messages.ts'

/**
 * The handlers of AccessService. Those with a project reject as `projectOf` does; bad fields are INVALID_PARAMETER or
 * MISSING_PARAMETER, unknown ids PROJECT_NOT_FOUND, MERCHANT_NOT_FOUND, INSTITUTION_NOT_FOUND or KEY_NOT_FOUND.
 *
 * Authentication: PW_INVALID_SUBSCRIPTION_KEY, PW_INVALID_API_KEY. Creation: NAME_TAKEN; TOO_MANY_KEYS; a repeat of a
 * request id whose secret was shown is REQUEST_DONE, one with other content REQUEST_ID_REUSED.
 */
export function accessService(administration: Administration): ServiceImpl<typeof AccessService> {
  return {
    ...checks(administration),
    ...accessLists(administration.db),
    ...changes(administration),
    ...keyChanges(administration),
  }
}

function checks({ db, secrets }: Administration) {
  return {
    async authenticateSubscriptionKey({ subscriptionKey, environment }) {
      const found = await authenticateSubscriptionKey(
        db,
        secrets,
        subscriptionKey,
        environmentOf(environment),
      )
      return { project: wireProject(found.project), keyId: found.keyId }
    },
    async authenticateApiKey({ projectId: requested, apiKey }, context) {
      const projectId = projectOf(context, requested)
      return { merchant: await authenticateApiKey(db, secrets, projectId, apiKey) }
    },
    async getMerchant({ projectId: requested, merchantId }, context) {
      const projectId = projectOf(context, requested)
      const merchant = await findBrandedMerchant(db, projectId, merchantId)
      if (merchant === undefined) {
        throw new Failure('MERCHANT_NOT_FOUND', `project has no merchant ${merchantId}`)
      }
      return { merchant }
    },
    async getMerchantLogo({ projectId: requested, merchantId }, context) {
      return { logoPng: await findLogo(db, projectOf(context, requested), merchantId) }
    },
    async checkGrant({ projectId: requested, institutionName, endpoint }, context) {
      const projectId = projectOf(context, requested)
      const found = await findGrant(db, projectId, institutionName, endpoint)
      return { granted: found !== undefined, institutionId: found?.institutionId ?? '' }
    },
    async getSigningSecrets({ institutionId }) {
      return { signingSecrets: await signingSecrets(db, secrets, institutionId) }
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
}

function changes(administration: Administration) {
  return {
    async createProject({ requestId, name, environment, accountAccess, allowedIps }) {
      const wanted = { name, environment: environmentOf(environment), accountAccess, allowedIps }
      return { project: wireProject(await createProject(administration, actor(requestId), wanted)) }
    },
    async updateProjectAccess(
      { projectId: requested, accountAccess, allowedIps, updateMask },
      context,
    ) {
      const projectId = projectOf(context, requested)
      const named = updateMask?.paths ?? []
      const isNamed = (field: string) => named.length === 0 || named.includes(field)
      const project = await changeProjectAccess(
        administration,
        actor(),
        projectId,
        isNamed('account_access') ? accountAccess : undefined,
        isNamed('allowed_ips') ? allowedIps : undefined,
      )
      return { project: wireProject(project) }
    },
    async createInstitution({ requestId, name, environment, defaultCurrency }) {
      const made = await createInstitution(
        administration,
        actor(requestId),
        name,
        environmentOf(environment),
        defaultCurrency || undefined,
      )
      const institution = { ...made.institution, environment }
      return { institution, key: made.key }
    },
    async rotateInstitutionKey({ requestId, institutionId }) {
      return { key: await rotateInstitutionKey(administration, actor(requestId), institutionId) }
    },
    async grantEndpoints({ projectId: requested, institutionId, endpoints }, context) {
      const wanted = { projectId: projectOf(context, requested), institutionId, endpoints }
      return { endpoints: await grantEndpoints(administration, actor(), wanted) }
    },
    async revokeGrants({ projectId: requested, institutionId, endpoints }, context) {
      const wanted = { projectId: projectOf(context, requested), institutionId, endpoints }
      return { endpoints: await revokeGrants(administration, actor(), wanted) }
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
}

function keyChanges(administration: Administration) {
  return {
    async issueSubscriptionKey({ requestId, projectId: requested }, context) {
      const projectId = projectOf(context, requested)
      const issued = await issueSubscriptionKey(administration, actor(requestId), projectId)
      const { keyId, subscriptionKey, issuedAt } = issued
      return { keyId, subscriptionKey, issueTime: timestampFromDate(issuedAt) }
    },
    async revokeSubscriptionKey(request, context) {
      const revokedAt = await revokeSubscriptionKey(
        administration,
        actor(),
        keyRefOf(request, context),
      )
      return { revokeTime: timestampFromDate(revokedAt) }
    },
    async createMerchant({ requestId, projectId: requested, businessName, mobileNumber }, context) {
      const projectId = projectOf(context, requested)
      const wanted = { projectId, businessName, mobileNumber }
      return createMerchant(administration, actor(requestId), wanted)
    },
    async updateMerchant({ projectId: requested, merchantId, updateMask, ...wanted }, context) {
      const projectId = projectOf(context, requested)
      const named = updateMask?.paths ?? []
      const ifNamed = <T>(field: string, value: T) =>
        named.length === 0 || named.includes(field) ? value : undefined
      const merchant = await updateBranding(
        administration,
        actor(),
        { projectId, merchantId },
        {
          color: ifNamed('color', wanted.color),
          logoPng: ifNamed('logo_png', Buffer.from(wanted.logoPng)),
          supportEmail: ifNamed('support_email', wanted.supportEmail),
          supportPhone: ifNamed('support_phone', wanted.supportPhone),
          websiteUrl: ifNamed('website_url', wanted.websiteUrl),
        },
      )
      return { merchant }
    },
    async issueApiKey({ requestId, projectId: requested, merchantId }, context) {
      const projectId = projectOf(context, requested)
      const issued = await issueApiKey(administration, actor(requestId), projectId, merchantId)
      const { keyId, apiKey, issuedAt } = issued
      return { keyId, apiKey, issueTime: timestampFromDate(issuedAt) }
    },
    async revokeApiKey(request, context) {
      const revokedAt = await revokeApiKey(administration, actor(), keyRefOf(request, context))
      return { revokeTime: timestampFromDate(revokedAt) }
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
}

/** A key of the project that the request or the credential names; if neither names one, a key of any project. */
function keyRefOf(
  { keyId, projectId: requested }: { keyId: string; projectId: string },
  context: HandlerContext,
): KeyRef {
  const isOfAny = requested === '' && currentContext()?.caller?.projectId === undefined
  return { keyId, projectId: isOfAny ? undefined : projectOf(context, requested) }
}
