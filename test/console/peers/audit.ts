// The audits that the console lists, filtered as the services filter them.
import { randomUUID } from 'node:crypto'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import type { ActionAuditService } from '#gen/payweave/audit/v1/audit_pb.js'
import type { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { type Many, type Texts, time } from '../rows.ts'

/** The lists of both audits; each has changes of one thing by one person. */
export function auditPeers(
  seen: (rpc: string) => void,
  texts: Texts,
  many: Many,
  institutionId: string,
) {
  const access = {
    listAudit({ projectId, caller, targetId, startTime, pageSize }) {
      seen('ListAudit')
      if (caller !== '' && caller !== texts.person) return {}
      if (targetId !== '' && targetId !== institutionId) return {}
      if (startTime !== undefined && timestampMs(startTime) > timestampMs(time)) return {}
      const entry = { occurTime: time, caller: texts.person, action: 'issue_api_key' }
      const change = { ...entry, details: { note: texts.note }, targetId: institutionId }
      return { entries: many({ ...change, auditId: randomUUID(), projectId }, pageSize) }
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
  const catalogue = {
    listCatalogueChanges({ caller, target, pageSize }) {
      seen('ListCatalogueChanges')
      if (caller !== '' && caller !== texts.person) return {}
      if (target !== '' && target !== 'POWER') return {}
      const entry = { caller: texts.person, action: 'put_biller', target: 'POWER' }
      return { changes: many({ ...entry, note: texts.note, occurTime: time }, pageSize) }
    },
  } satisfies Partial<ServiceImpl<typeof CatalogueService>>
  const actions: ServiceImpl<typeof ActionAuditService> = {
    listActions({ caller, target, pageSize }) {
      seen('ListActions')
      if (caller !== '' && caller !== texts.person) return {}
      if (target !== '' && target !== institutionId) return {}
      const entry = { caller: texts.person, action: 'repeat_refund', target: institutionId }
      return { actions: many({ ...entry, note: texts.note, actionTime: time }, pageSize) }
    },
  }
  return { access, catalogue, actions }
}
