// Serves payweave.audit.v1.ActionAuditService, the same for every service that records actions.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { idIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import type { ActionAuditService } from '#gen/payweave/audit/v1/audit_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { listActions } from './action-store.ts'

/** The handler of ActionAuditService. It refuses a page token that is not ours with INVALID_PARAMETER, and rejects as a Queryable does. */
export function actionAuditService(db: Queryable): ServiceImpl<typeof ActionAuditService> {
  return {
    async listActions({ caller, target, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const found = await listActions(db, { caller, target }, idIn(pageToken), size + 1)
      const page = pageOf(found, size, ({ actionId }) => tokenOf(actionId))
      const actions = page.rows.map(({ actionTime, requestId, ...action }) => ({
        ...action,
        actionTime: timestampFromDate(actionTime),
        requestId: requestId ?? '',
      }))
      return { actions, nextPageToken: page.nextPageToken }
    },
  }
}
