// Maps accounts.v1.AccessService to the domain and back; it must not hold a rule or a statement.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors.ts'
import { type AccessService, Environment as WireEnvironment } from '#gen/accounts/v1/access_pb.js'
import { currentContext } from '#runtime/rpc/context.ts'
import { projectOf } from '#runtime/rpc/project.ts'
import { type Environment, type Project, requireUuid } from './access.ts'
import {
  type Actor,
  type Administration,
  changeProjectAccess,
  createInstitution,
  createMerchant,
  createProject,
  grantEndpoints,
  issueSubscriptionKey,
  revokeGrants,
  rotateInstitutionKey,
  withdrawApiKey,
  withdrawSubscriptionKey,
} from './administer.ts'
import { authenticateApiKey, authenticateSubscriptionKey } from './authenticate.ts'
import { signingSecrets } from './institution-keys.ts'
import { findGrant } from './institution-store.ts'
import { findMerchant } from './project-store.ts'

const wireEnvironment = {
  sandbox: WireEnvironment.SANDBOX,
  production: WireEnvironment.PRODUCTION,
} as const satisfies Record<Environment, WireEnvironment>

function environmentOf(wire: WireEnvironment): Environment {
  if (wire === WireEnvironment.SANDBOX) return 'sandbox'
  if (wire === WireEnvironment.PRODUCTION) return 'production'
  throw new Failure('MISSING_PARAMETER', 'environment is required', {
    details: { field: 'environment' },
  })
}

function wireProject({ environment, ...project }: Project) {
  return { ...project, environment: wireEnvironment[environment] }
}

function actor(): Actor {
  const context = currentContext()
  return { caller: context?.caller?.name ?? 'unknown', requestId: context?.requestId }
}

/** The project of a call: a UUID, and the one of the caller's token when that names one. */
function requiredProject(context: HandlerContext, asked: string): string {
  return requireUuid(projectOf(context, asked), 'project_id')
}

/** The handlers of AccessService over one administration. */
export function accessService(administration: Administration): ServiceImpl<typeof AccessService> {
  return { ...checks(administration), ...changes(administration) }
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
    async authenticateApiKey({ projectId: asked, apiKey }, context) {
      const projectId = requiredProject(context, asked)
      return { merchant: await authenticateApiKey(db, secrets, projectId, apiKey) }
    },
    async getMerchant({ projectId: asked, merchantId }, context) {
      const projectId = requiredProject(context, asked)
      requireUuid(merchantId, 'merchant_id')
      const merchant = await findMerchant(db, projectId, merchantId)
      if (merchant === undefined) {
        throw new Failure('MERCHANT_NOT_FOUND', `project has no merchant ${merchantId}`)
      }
      return { merchant }
    },
    async checkGrant({ projectId: asked, institutionName, endpoint }, context) {
      const projectId = requiredProject(context, asked)
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
    async createProject({ name, environment, accountAccess, allowedIps }) {
      const wanted = { name, environment: environmentOf(environment), accountAccess, allowedIps }
      return { project: wireProject(await createProject(administration, actor(), wanted)) }
    },
    async updateProjectAccess({ projectId: asked, accountAccess, allowedIps }, context) {
      const projectId = requiredProject(context, asked)
      const project = await changeProjectAccess(
        administration,
        actor(),
        projectId,
        accountAccess,
        allowedIps,
      )
      return { project: wireProject(project) }
    },
    async issueSubscriptionKey({ projectId: asked }, context) {
      const projectId = requiredProject(context, asked)
      const issued = await issueSubscriptionKey(administration, actor(), projectId)
      const { keyId, subscriptionKey, issuedAt } = issued
      return { keyId, subscriptionKey, issueTime: timestampFromDate(issuedAt) }
    },
    async revokeSubscriptionKey({ keyId }) {
      const revokedAt = await withdrawSubscriptionKey(administration, actor(), keyId)
      return { revokeTime: timestampFromDate(revokedAt) }
    },
    async createMerchant({ projectId: asked, businessName, mobileNumber }, context) {
      const projectId = requiredProject(context, asked)
      return createMerchant(administration, actor(), { projectId, businessName, mobileNumber })
    },
    async revokeApiKey({ keyId }) {
      const revokedAt = await withdrawApiKey(administration, actor(), keyId)
      return { revokeTime: timestampFromDate(revokedAt) }
    },
    async createInstitution({ name, environment }) {
      const made = await createInstitution(
        administration,
        actor(),
        name,
        environmentOf(environment),
      )
      const institution = { ...made.institution, environment }
      return { institution, key: made.key }
    },
    async rotateInstitutionKey({ institutionId }) {
      return { key: await rotateInstitutionKey(administration, actor(), institutionId) }
    },
    async grantEndpoints({ projectId: asked, institutionId, endpoints }, context) {
      const wanted = { projectId: requiredProject(context, asked), institutionId, endpoints }
      return { endpoints: await grantEndpoints(administration, actor(), wanted) }
    },
    async revokeGrants({ projectId: asked, institutionId, endpoints }, context) {
      const wanted = { projectId: requiredProject(context, asked), institutionId, endpoints }
      return { endpoints: await revokeGrants(administration, actor(), wanted) }
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
}
