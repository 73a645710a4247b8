// Maps the RPCs of EndpointService that pause and resume lanes to the store and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { idIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import { DeliveryKind as WireKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import type { Database } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { auditName, currentContext } from '#platform/rpc/context.ts'
import { changeLane, type LaneChange, listLaneChanges } from '../store/pause-store.ts'
import { wireKinds, wordOf } from './messages.ts'

/**
 * The handlers that pause and resume lanes and list who did; `onDue` is called when pushes of a lane may be sent again. They reject as
 * `projectOf` does; the first two refuse an unknown lane with RECEIVER_NOT_FOUND, the list a page token that is not ours and an unknown
 * kind with INVALID_PARAMETER.
 */
export function pauseHandlers(db: Database, onDue: () => void) {
  return {
    async pauseEndpoint({ projectId: requested, endpointId, note }, context) {
      const projectId = projectOf(context, requested)
      await changeLane(db, { projectId, endpointId, isPaused: true, note, ...by() })
      return {}
    },
    async resumeEndpoint({ projectId: requested, endpointId, note }, context) {
      const projectId = projectOf(context, requested)
      await changeLane(db, { projectId, endpointId, isPaused: false, note, ...by() })
      onDue()
      return {}
    },
    async listEndpointChanges(request, context) {
      const projectId = projectOf(context, request.projectId)
      const size = pageSizeOf(request.pageSize)
      const kind = wordOf(wireKinds, request.kind, 'kind')
      const after = idIn(request.pageToken)
      const rows = await listLaneChanges(db, projectId, after, size + 1, kind)
      const page = pageOf(rows, size, ({ changeId }) => tokenOf(changeId))
      return { changes: page.rows.map(changeMessage), nextPageToken: page.nextPageToken }
    },
  } satisfies Partial<ServiceImpl<typeof EndpointService>>
}

function by() {
  const context = currentContext()
  return { caller: auditName(context?.caller), requestId: context?.requestId }
}

function changeMessage({ kind, changeTime, requestId, ...change }: LaneChange) {
  return {
    ...change,
    kind: kind === null ? WireKind.UNSPECIFIED : wireKinds[kind],
    changeTime: timestampFromDate(changeTime),
    requestId: requestId ?? '',
  }
}
