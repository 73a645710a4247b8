// Approvals as payments and billing serve them: one that somebody else has requested, in each service.
import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  ApprovalKind,
  type ApprovalService,
  ApprovalState,
} from '#gen/payweave/approvals/v1/approvals_pb.js'
import { currentContext } from '#platform/rpc/context.ts'
import type { Project } from '../projects.ts'
import { type Many, type Texts, time } from '../rows.ts'

/** What payments and billing have of a project. */
export function approvalPeers(
  { projectId, payment, bill }: Project,
  texts: Texts,
  many: Many,
  seen: (rpc: string) => void,
) {
  const of = (kind: ApprovalKind, subjectId: string) =>
    approvalPeer(kind, { projectId, subjectId }, texts, many, seen)
  return {
    refunds: of(ApprovalKind.REFUND, payment.paymentId),
    bills: of(ApprovalKind.BILL, bill.transactionId),
  }
}

type Ids = { projectId: string; subjectId: string }

/** A service with one approval, which tests change: whose it is, whether there is one about a payment, and whether the filter by id is ignored, as before there was one. */
function approvalPeer(
  kind: ApprovalKind,
  { projectId, subjectId }: Ids,
  texts: Texts,
  many: Many,
  seen: (rpc: string) => void,
) {
  const held = { requester: texts.person, isShown: false, ignoresId: false }
  const approvalId = randomUUID()
  const approval = () => ({
    approvalId,
    kind,
    projectId,
    subjectId,
    amount: { currency: 'USD', minorUnits: 250_000n },
    outcome: kind === ApprovalKind.BILL ? 'NOT_RECEIVED' : '',
    note: texts.note,
    requester: held.requester,
    createTime: time,
    expireTime: time,
    state: ApprovalState.WAITING,
  })
  const decided = (key: { projectId: string; approvalId: string }, state: ApprovalState) => {
    if (key.projectId !== projectId || key.approvalId !== approvalId) {
      throw new Failure('APPROVAL_NOT_FOUND', 'there is no such approval')
    }
    return { approval: { ...approval(), state, decider: texts.person, decideTime: time } }
  }
  const handlers: Partial<ServiceImpl<typeof ApprovalService>> = {
    listApprovals({ subjectId: about, approvalId: one, projectId: of, pageSize }) {
      seen('ListApprovals')
      // As billing does: reviews are of no project.
      const isOfBills = kind === ApprovalKind.BILL
      if (isOfBills && currentContext()?.caller?.projectId !== undefined) {
        throw new Failure('PERMISSION_DENIED', 'the caller may not call ListReviews')
      }
      if (one !== '' && !held.ignoresId)
        return { approvals: one === approvalId && of === projectId ? [approval()] : [] }
      const isOfThing = about !== ''
      return { approvals: isOfThing && !held.isShown ? [] : many(approval(), pageSize) }
    },
    approve(key) {
      seen('Approve')
      return decided(key, ApprovalState.APPROVED)
    },
    reject(key) {
      seen('Reject')
      return decided(key, ApprovalState.REJECTED)
    },
  }
  return { held, approvalId, approval, handlers }
}
