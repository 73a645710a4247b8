// Maps payweave.accounts.v1.MovementService to the domain and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type {
  BeginMovementRequest,
  MovementService,
  LimitUse as WireLimitUse,
} from '#gen/payweave/accounts/v1/movement_pb.js'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import type { LimitUse } from '../domain/limits.ts'
import { refuse } from '../domain/lines.ts'
import {
  beginMovement,
  cancelMovement,
  checkLimits,
  completeMovement,
  type Movements,
  type NewMovement,
} from '../operations/movement.ts'
import { detailsOf, linesOf, moneyOf, timeOf } from './messages.ts'

/**
 * The handlers of MovementService. All reject as `projectOf` does; bad fields and lines are INVALID_PARAMETER or
 * MISSING_PARAMETER, an unknown account LEDGER_ACCOUNT_NOT_FOUND.
 *
 * `beginMovement` refuses in this order: SESSION_INVALID or SESSION_EXPIRED, QUOTE_EXPIRED, ACCOUNT_UNAVAILABLE,
 * LIMIT_EXCEEDED, INSUFFICIENT_FUNDS or AMOUNT_OUT_OF_RANGE; a UUID that was used with other content is LEDGER_CONFLICT, one
 * that was cancelled HOLD_CLOSED. `completeMovement`: MOVEMENT_NOT_FOUND, HOLD_CLOSED, LEDGER_CONFLICT, INSUFFICIENT_FUNDS,
 * AMOUNT_OUT_OF_RANGE. `cancelMovement`: HOLD_CLOSED. `checkLimits`: LIMIT_EXCEEDED.
 */
export function movementService(movements: Movements): ServiceImpl<typeof MovementService> {
  return {
    async beginMovement(request, context) {
      const projectId = projectOf(context, request.projectId)
      const begun = await beginMovement(movements, newMovement(request, projectId))
      return { beginTime: timestampFromDate(begun.beginTime), repeatedCall: begun.repeated }
    },
    async completeMovement(request, context) {
      const projectId = projectOf(context, request.projectId)
      const movementId = request.movementId
      const lines = linesOf(request.postings)
      const { postTime } = await completeMovement(movements, { projectId, movementId, lines })
      return { postTime: timestampFromDate(postTime) }
    },
    async cancelMovement(request, context) {
      const projectId = projectOf(context, request.projectId)
      const movementId = request.movementId
      await cancelMovement(movements, { projectId, movementId })
      return {}
    },
    async checkLimits(request, context) {
      const projectId = projectOf(context, request.projectId)
      const use = limitUseOf(request.limitUse)
      await checkLimits(movements, projectId, use ?? refuse('limit_use', 'is required'))
      return {}
    },
  }
}

function newMovement(request: BeginMovementRequest, projectId: string): NewMovement {
  const { sessionTokenHash, hold, credit, beginBeforeTime } = request
  if (sessionTokenHash.length !== 32) refuse('session_token_hash', 'must be 32 bytes')
  return {
    projectId,
    movementId: request.movementId,
    sessionTokenHash: Buffer.from(sessionTokenHash),
    institutionId: request.institutionId,
    limitUse: limitUseOf(request.limitUse),
    lines: linesOf(request.postings),
    hold:
      hold === undefined
        ? undefined
        : {
            accountId: hold.accountId,
            ...moneyOf(hold.amount, 'hold.amount'),
            expireTime: timeOf(hold.expireTime, 'hold.expire_time'),
            feeMinor: hold.feeMinorUnits,
          },
    credit:
      credit === undefined
        ? undefined
        : { accountId: credit.accountId, ...moneyOf(credit.amount, 'credit.amount') },
    beginBefore:
      beginBeforeTime === undefined ? undefined : timeOf(beginBeforeTime, 'begin_before_time'),
    details: detailsOf(request.details),
  }
}

function limitUseOf(message: WireLimitUse | undefined): LimitUse | undefined {
  if (message === undefined) return undefined
  const accountId = message.accountId
  return { accountId, ...moneyOf(message.amount, 'limit_use.amount') }
}
