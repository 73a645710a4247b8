// Maps payweave.payments.v1.PaymentOperationsService to the store and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { cursorIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import {
  CallKind,
  type PaymentOperationsService,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import { recordAction } from '#platform/actions/action-store.ts'
import type { Database } from '#platform/db/db.ts'
import { auditName, currentContext } from '#platform/rpc/context.ts'
import type { Task } from '../domain/transition.ts'
import {
  enquireAttempt,
  findWaitingRefund,
  listFailingCalls,
  listProcessing,
  listWaitingRefunds,
  recordRefundPaidByHand,
  repeatRefund,
  retryCall,
} from '../store/operations-store.ts'
import { timestampOf } from './messages.ts'

const defaultMinAttempts = 3
const maxCalls = 200
const defaultMinAgeS = 600

const kinds: Record<Task['kind'], CallKind> = {
  announce: CallKind.ANNOUNCE,
  withdraw: CallKind.WITHDRAW,
  refund: CallKind.REFUND,
  payout: CallKind.PAYOUT,
}

/**
 * The handlers of PaymentOperationsService. `settleRefund` refuses a refund that has not failed, `retryCall` a call
 * that is not open, `enquireAttempt` and `repeatRefund` what has an outcome, with CHARGE_NOT_FOUND, `listProcessingAttempts` a bad page
 * token with INVALID_PARAMETER. All reject as a Queryable does. What asks again, sends a call once more, or settles a refund, writes an
 * action of its caller in the same transaction.
 */
export function paymentOperationsService(
  db: Database,
): ServiceImpl<typeof PaymentOperationsService> {
  return {
    ...askingHandlers(db),
    async listWaitingRefunds({ state, refundId, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const word = state === WaitingRefundState.SENT ? 'sent' : 'failed'
      const found =
        refundId === ''
          ? await listWaitingRefunds(db, word, pageToken || undefined, size + 1)
          : [await findWaitingRefund(db, word, refundId)].filter((one) => one !== undefined)
      const { rows, nextPageToken } = pageOf(found, size, ({ refundId }) => refundId)
      return {
        refunds: rows.map(({ createTime, endTime, ...refund }) => ({
          ...refund,
          createTime: timestampOf(createTime),
          ...(endTime !== null && { endTime: timestampOf(endTime) }),
        })),
        nextPageToken,
      }
    },
    async settleRefund({ refundId, note }) {
      return { settleTime: timestampOf(await settleRefund(db, refundId, note)) }
    },
    async listFailingCalls({ minAttempts }) {
      const attempts = minAttempts === 0 ? defaultMinAttempts : minAttempts
      const calls = await listFailingCalls(db, attempts, maxCalls)
      return {
        calls: calls.map(({ kind, attempts: attemptCount, createTime, nextTime, ...call }) => ({
          ...call,
          kind: kinds[kind],
          attemptCount,
          createTime: timestampOf(createTime),
          nextTime: timestampOf(nextTime),
        })),
      }
    },
    async listProcessingAttempts({ minAgeS, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const cursor = cursorIn(pageToken)
      const after = cursor && { createdUs: cursor.at, payerId: cursor.id }
      const found = await listProcessing(db, minAgeS || defaultMinAgeS, after, size + 1)
      const { rows, nextPageToken } = pageOf(found, size, ({ createdUs, payerId }) =>
        tokenOf(createdUs, payerId),
      )
      return {
        attempts: rows.map((one) => ({
          attemptId: one.attemptId,
          payerId: one.payerId,
          projectId: one.projectId,
          paymentId: one.paymentId,
          createTime: timestampOf(one.createTime),
          enquiryCount: one.enquiries,
          nextEnquiryTime: timestampOf(one.nextEnquiryTime),
        })),
        nextPageToken,
      }
    },
  }
}

/** Stores that the caller has paid a failed refund by hand, and the action of the one who did so first; when that was. */
function settleRefund(db: Database, refundId: string, note: string): Promise<Date> {
  const settledBy = auditName(currentContext()?.caller)
  return db.transaction(async (tx) => {
    const settled = await recordRefundPaidByHand(tx, refundId, settledBy, note)
    if (settled === undefined) {
      throw new Failure('CHARGE_NOT_FOUND', 'no refund with this id has failed')
    }
    if (settled.isFirst) await recordAction(tx, { action: 'settle_refund', target: refundId, note })
    return settled.settleTime
  })
}

/** What has the back end asked again, or a call sent to it once more, now. */
function askingHandlers(db: Database) {
  return {
    async retryCall({ subjectId, kind: wanted }) {
      const kind = (Object.keys(kinds) as Task['kind'][]).find((one) => kinds[one] === wanted)
      await db.transaction(async (tx) => {
        if (kind === undefined || !(await retryCall(tx, subjectId, kind))) {
          throw new Failure('CHARGE_NOT_FOUND', 'call not found, or already made')
        }
        await recordAction(tx, { action: `retry_${kind}`, target: subjectId })
      })
      return {}
    },
    async enquireAttempt({ attemptId }) {
      await db.transaction(async (tx) => {
        if (!(await enquireAttempt(tx, attemptId))) {
          throw new Failure('CHARGE_NOT_FOUND', 'attempt not found, or its outcome is known')
        }
        await recordAction(tx, { action: 'enquire_attempt', target: attemptId })
      })
      return {}
    },
    async repeatRefund({ refundId }) {
      await db.transaction(async (tx) => {
        if (!(await repeatRefund(tx, refundId))) {
          throw new Failure('CHARGE_NOT_FOUND', 'refund not found, or not awaiting its outcome')
        }
        await recordAction(tx, { action: 'repeat_refund', target: refundId })
      })
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof PaymentOperationsService>>
}
