// Maps the reads of administration, in payweave.accounts.v1.AccessService, to the stores and back. No secret is returned.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { badPageToken, pageOf, pageSizeOf } from '#core/paging.ts'
import {
  type AccessService,
  KeyState,
  type Environment as WireEnvironment,
} from '#gen/payweave/accounts/v1/access_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { microsOfTimestamp, timestampFromMicros } from '#platform/rpc/timestamps.ts'
import type { Project } from '../domain/access.ts'
import { type AuditFilter, type ListedAuditEntry, listAudit } from '../store/audit-store.ts'
import {
  findInstitution,
  findProject,
  type IssuedKey,
  type Listing,
  listApiKeys,
  listInstitutions,
  listLiveKeyIds,
  listMerchants,
  listProjectGrants,
  listProjects,
  listSigningKeys,
  listSubscriptionKeys,
} from '../store/list-store.ts'
import { knownEnvironment, wireEnvironment, wireProject } from './messages.ts'

const maxKeys = 200

/**
 * The handlers that only read. They refuse unknown ids with PROJECT_NOT_FOUND or INSTITUTION_NOT_FOUND, a page token
 * that is not ours with INVALID_PARAMETER, and reject as `projectOf` and a Queryable do. They never return a key, only
 * its id and dates.
 */
export function accessLists(db: Queryable) {
  return { ...projectLists(db), ...institutionLists(db) }
}

function projectLists(db: Queryable) {
  return {
    async getProject({ projectId: requested }, context) {
      return { project: wireProject(await existing(db, projectOf(context, requested))) }
    },
    async listProjects(request) {
      const listing = listingOf(request)
      const found = await listProjects(db, listing)
      const { rows, nextPageToken } = pageOf(found, listing.limit - 1, ({ projectId }) => projectId)
      return { projects: rows.map(wireProject), nextPageToken }
    },
    async listSubscriptionKeys({ projectId: requested, keyId, state }, context) {
      const { projectId } = await existing(db, projectOf(context, requested))
      const filter = { keyId: orNull(keyId), isActive: isActiveIn(state) }
      const keys = await listSubscriptionKeys(db, projectId, filter, maxKeys)
      return { keys: keys.map(keyMessage) }
    },
    async listApiKeys({ projectId: requested, merchantId, keyId, state }, context) {
      const { projectId } = await existing(db, projectOf(context, requested))
      const isActive = isActiveIn(state)
      const filter = { merchantId: orNull(merchantId), keyId: orNull(keyId), isActive }
      const keys = await listApiKeys(db, projectId, filter, maxKeys)
      return { keys: keys.map(keyMessage) }
    },
    async listMerchants({ projectId: requested, ...request }, context) {
      const { projectId } = await existing(db, projectOf(context, requested))
      const listing = boundsOf(request)
      const found = await listMerchants(db, projectId, listing)
      const { rows, nextPageToken } = pageOf(found, listing.limit - 1, (one) => one.merchantId)
      return { merchants: rows, nextPageToken }
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
}

function institutionLists(db: Queryable) {
  return {
    async listInstitutions(request) {
      const listing = listingOf(request)
      const found = await listInstitutions(db, listing, orNull(request.institutionId))
      const { rows, nextPageToken } = pageOf(found, listing.limit - 1, (one) => one.institutionId)
      const institutions = rows.map((one) => ({
        ...one,
        environment: wireEnvironment[one.environment],
      }))
      return { institutions, nextPageToken }
    },
    async getInstitution({ institutionId }) {
      const institution = await findInstitution(db, institutionId)
      if (institution === undefined) {
        throw new Failure('INSTITUTION_NOT_FOUND', `no institution ${institutionId}`)
      }
      const keys = await listLiveKeyIds(db, institutionId)
      return {
        institution: { ...institution, environment: wireEnvironment[institution.environment] },
        liveKeys: keys.map(({ keyId, issuedAt }) => ({
          keyId,
          issueTime: timestampFromDate(issuedAt),
        })),
      }
    },
    async listGrants({ projectId: requested, institutionId }, context) {
      const { projectId } = await existing(db, projectOf(context, requested))
      const institution = orNull(institutionId)
      const grants = await listProjectGrants(db, projectId, institution)
      return {
        grants: grants.map(({ grantedAt, ...grant }) => ({
          ...grant,
          grantTime: timestampFromDate(grantedAt),
        })),
      }
    },
    async listSigningKeys({ projectId: requested }, context) {
      const { projectId } = await existing(db, projectOf(context, requested))
      const keys = await listSigningKeys(db, projectId)
      return {
        keys: keys.map(({ issuedAt, ...key }) => ({
          ...key,
          issueTime: timestampFromDate(issuedAt),
        })),
      }
    },
    async listAudit({ projectId, caller, targetId, startTime, endTime, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const lines = await listAudit(db, {
        projectId: projectId || undefined,
        caller: caller || undefined,
        targetId: targetId || undefined,
        startUs: startTime && microsOfTimestamp(startTime),
        endUs: endTime && microsOfTimestamp(endTime),
        before: auditCursorIn(pageToken),
        limit: size + 1,
      })
      const { rows, nextPageToken } = pageOf(lines, size, auditTokenOf)
      return { entries: rows.map(auditMessage), nextPageToken }
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
}

async function existing(db: Queryable, projectId: string): Promise<Project> {
  const project = await findProject(db, projectId)
  if (project === undefined) throw new Failure('PROJECT_NOT_FOUND', `no project ${projectId}`)
  return project
}

type PageRequest = { pageSize: number; pageToken: string }
type ListRequest = PageRequest & { environment: WireEnvironment; name: string }

function listingOf({ environment, name, ...page }: ListRequest): Listing {
  return {
    environment: knownEnvironment(environment) ?? null,
    name: orNull(name),
    ...boundsOf(page),
  }
}

/** The bounds of a page. It has one row more than the page, to know whether another follows. */
function boundsOf({ pageSize, pageToken }: PageRequest): Pick<Listing, 'afterId' | 'limit'> {
  if (pageToken !== '' && !isUuid(pageToken)) throw badPageToken()
  return { afterId: orNull(pageToken), limit: pageSizeOf(pageSize) + 1 }
}

function auditTokenOf({ occurTimeUs, auditId }: ListedAuditEntry): string {
  return `${occurTimeUs}.${auditId}`
}

function auditCursorIn(token: string): AuditFilter['before'] {
  if (token === '') return undefined
  const [occurredUs = '', id = ''] = token.split('.')
  if (!/^\d{1,17}$/.test(occurredUs) || !isUuid(id)) throw badPageToken()
  return { at: BigInt(occurredUs), id }
}

/** An optional text: null for the empty one. */
function orNull(text: string): string | null {
  return text === '' ? null : text
}

/** Whether the keys of a state are active; null for any state. */
function isActiveIn(state: KeyState): boolean | null {
  return state === KeyState.UNSPECIFIED ? null : state === KeyState.ACTIVE
}

function keyMessage({ keyId, merchantId, issuedAt, revokedAt }: IssuedKey) {
  return {
    keyId,
    merchantId,
    issueTime: timestampFromDate(issuedAt),
    ...(revokedAt === null ? {} : { revokeTime: timestampFromDate(revokedAt) }),
  }
}

function auditMessage(entry: ListedAuditEntry) {
  const { auditId, occurTimeUs, caller, requestId, action, projectId, targetId, details } = entry
  return {
    auditId,
    occurTime: timestampFromMicros(occurTimeUs),
    caller,
    requestId: requestId ?? '',
    action,
    projectId: projectId ?? '',
    targetId,
    details,
  }
}
