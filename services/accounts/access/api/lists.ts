// Maps the reads of administration, in payweave.accounts.v1.AccessService, to the stores and back. No secret is returned.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import type {
  AccessService,
  Environment as WireEnvironment,
} from '#gen/payweave/accounts/v1/access_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/project.ts'
import type { Project } from '../domain/access.ts'
import {
  type AuditLine,
  findInstitution,
  findProject,
  type IssuedKey,
  type Listing,
  listApiKeys,
  listAudit,
  listInstitutions,
  listLiveKeyIds,
  listMerchants,
  listProjectGrants,
  listProjects,
  listSubscriptionKeys,
} from '../store/list-store.ts'
import { knownEnvironment, wireEnvironment, wireProject } from './wire.ts'

const pageSizes = { usual: 50, max: 200 } as const

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
      const page = pageOf(await listProjects(db, listing), listing, ({ projectId }) => projectId)
      return { projects: page.rows.map(wireProject), nextPageToken: page.next }
    },
    async listSubscriptionKeys({ projectId: requested }, context) {
      const { projectId } = await existing(db, projectOf(context, requested))
      const keys = await listSubscriptionKeys(db, projectId, pageSizes.max)
      return { keys: keys.map(keyMessage) }
    },
    async listApiKeys({ projectId: requested, merchantId }, context) {
      const { projectId } = await existing(db, projectOf(context, requested))
      const merchant = orNull(merchantId)
      const keys = await listApiKeys(db, projectId, merchant, pageSizes.max)
      return { keys: keys.map(keyMessage) }
    },
    async listMerchants({ projectId: requested, ...request }, context) {
      const { projectId } = await existing(db, projectOf(context, requested))
      const listing = placeOf(request)
      const found = await listMerchants(db, projectId, listing)
      const page = pageOf(found, listing, ({ merchantId }) => merchantId)
      return { merchants: page.rows, nextPageToken: page.next }
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
}

function institutionLists(db: Queryable) {
  return {
    async listInstitutions(request) {
      const listing = listingOf(request)
      const found = await listInstitutions(db, listing)
      const page = pageOf(found, listing, ({ institutionId }) => institutionId)
      const institutions = page.rows.map((one) => ({
        ...one,
        environment: wireEnvironment[one.environment],
      }))
      return { institutions, nextPageToken: page.next }
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
    async listAudit({ projectId, pageSize, pageToken }) {
      const listing = {
        projectId: orNull(projectId),
        before: readPlace(pageToken),
        limit: limitOf(pageSize) + 1,
      }
      const { rows, next } = pageOf(await listAudit(db, listing), listing, placeToken)
      return { entries: rows.map(auditMessage), nextPageToken: next }
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
    ...placeOf(page),
  }
}

/** The place of a page. It has one row more than the page, to know whether another follows. */
function placeOf({ pageSize, pageToken }: PageRequest): Pick<Listing, 'afterId' | 'limit'> {
  if (pageToken !== '' && !isUuid(pageToken)) throw badToken()
  return { afterId: pageToken === '' ? null : pageToken, limit: limitOf(pageSize) + 1 }
}

function limitOf(pageSize: number): number {
  return pageSize === 0 ? pageSizes.usual : pageSize
}

function pageOf<T>(
  found: T[],
  { limit }: { limit: number },
  tokenOf: (row: T) => string,
): { rows: T[]; next: string } {
  const rows = found.slice(0, limit - 1)
  const last = rows.at(-1)
  return { rows, next: found.length < limit || last === undefined ? '' : tokenOf(last) }
}

function placeToken({ place, auditId }: AuditLine): string {
  return `${place}.${auditId}`
}

function readPlace(token: string): { place: string; auditId: string } | undefined {
  if (token === '') return undefined
  const [place = '', auditId = ''] = token.split('.')
  if (!/^\d{1,17}$/.test(place) || !isUuid(auditId)) throw badToken()
  return { place, auditId }
}

function badToken(): Failure {
  return new Failure('INVALID_PARAMETER', 'page_token is not one of ours', {
    details: { field: 'page_token' },
  })
}

/** An optional text: null for the empty one. */
function orNull(text: string): string | null {
  return text === '' ? null : text
}

function keyMessage({ keyId, merchantId, issuedAt, revokedAt }: IssuedKey) {
  return {
    keyId,
    merchantId,
    issueTime: timestampFromDate(issuedAt),
    ...(revokedAt === null ? {} : { revokeTime: timestampFromDate(revokedAt) }),
  }
}

function auditMessage(line: AuditLine) {
  const { auditId, occurredAt, caller, requestId, action, projectId, targetId, details } = line
  return {
    auditId,
    occurTime: timestampFromDate(occurredAt),
    caller,
    requestId: requestId ?? '',
    action,
    projectId: projectId ?? '',
    targetId,
    details,
  }
}
