// Serves payweave.approvals.v1.ApprovalService for a service that executes what two people decided.
import type { DescMethod } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, missing } from '#core/errors/errors.ts'
import { idIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import {
  type ApprovalKind,
  type ApprovalService,
  ApprovalState as WireState,
} from '#gen/payweave/approvals/v1/approvals_pb.js'
import type { Database } from '#platform/db/db.ts'
import { permissionOf, projectOf } from '#platform/rpc/auth/callers.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { type Approval, type ApprovalState, listApprovals } from './approval-store.ts'
import { approve, currentActor, type Execute, reject } from './approvals.ts'

const wireStates = {
  waiting: WireState.WAITING,
  approved: WireState.APPROVED,
  rejected: WireState.REJECTED,
  expired: WireState.EXPIRED,
} as const satisfies Record<ApprovalState, WireState>

/** What a service lets two people decide. */
export type ApprovedAction = {
  db: Database
  kind: ApprovalKind
  /** Who may call it may list the approvals. */
  listedWith: DescMethod
  /** The RPC that only requests: who may call it may approve and reject. */
  requestedBy: DescMethod
  execute: Execute
}

/**
 * The handlers of ApprovalService. They refuse callers by the RPCs of the action with PERMISSION_DENIED, an unknown approval
 * with APPROVAL_NOT_FOUND, a decided one with APPROVAL_CLOSED, a bad page token with INVALID_PARAMETER; `approve` the requester
 * with APPROVAL_OWN, and rejects as the execution does. All reject as a Queryable does.
 */
export function approvalService(action: ApprovedAction): ServiceImpl<typeof ApprovalService> {
  const { db, kind } = action
  const mayList = requirement(action.listedWith)
  const mayDecide = requirement(action.requestedBy)
  const message = (approval: Approval) => approvalMessage(kind, approval)
  return {
    async listApprovals({ projectId, subjectId, state, approvalId, pageSize, pageToken }) {
      mayList()
      if (subjectId !== '' && projectId === '') throw missing('project_id')
      const size = pageSizeOf(pageSize)
      const filter = {
        projectId: projectId || undefined,
        subjectId: subjectId || undefined,
        state: stateOf(state),
        approvalId: approvalId || undefined,
      }
      const found = await listApprovals(db, filter, idIn(pageToken), size + 1)
      const page = pageOf(found, size, ({ approvalId }) => tokenOf(approvalId))
      return { approvals: page.rows.map(message), nextPageToken: page.nextPageToken }
    },
    async approve({ projectId, approvalId }, context) {
      mayDecide()
      const key = { projectId: projectOf(context, projectId), approvalId }
      return { approval: message(await approve(db, currentActor(), key, action.execute)) }
    },
    async reject({ projectId, approvalId, note }, context) {
      mayDecide()
      const key = { projectId: projectOf(context, projectId), approvalId }
      return { approval: message(await reject(db, currentActor(), key, note)) }
    },
  }
}

/** Refuses callers who may not call a method. */
function requirement(method: DescMethod): () => void {
  const permits = permissionOf(method)
  return () => {
    const caller = currentContext()?.caller
    if (caller !== undefined && permits(caller)) return
    throw new Failure('PERMISSION_DENIED', `the caller may not call ${method.name}`)
  }
}

function stateOf(wanted: WireState): ApprovalState | undefined {
  const states = Object.keys(wireStates) as ApprovalState[]
  return states.find((state) => wireStates[state] === wanted)
}

/** An approval as services return it. */
export function approvalMessage(kind: ApprovalKind, approval: Approval) {
  const { amountMinor, currency, decider, decideTime, createTime, expireTime, ...same } = approval
  return {
    ...same,
    kind,
    amount: { currency, minorUnits: amountMinor },
    createTime: timestampFromDate(createTime),
    expireTime: timestampFromDate(expireTime),
    state: wireStates[approval.state],
    decider: decider ?? '',
    ...(decideTime !== null && { decideTime: timestampFromDate(decideTime) }),
  }
}
