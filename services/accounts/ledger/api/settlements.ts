// Maps payweave.accounts.v1.SettlementPostingService to the job and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { cursorIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import type { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { postPayment, type RetryOptions, retrySettlement } from '../operations/settlement-retry.ts'
import {
  type BackfillState,
  countRefusals,
  listRefusals,
  type Refusal,
  readBackfill,
  restartBackfill,
} from '../store/backfill-store.ts'

const defaultPageSize = 100

/**
 * The handlers of SettlementPostingService; `notify` starts a round of the job. `retrySettlement` refuses a settlement that is not
 * refused with TRANSFER_NOT_FOUND, `postPaymentSettlements` a payment without a settlement with PAYMENT_NOT_FOUND, `getBackfill` a bad page
 * token with INVALID_PARAMETER. They reject as a Queryable does.
 */
export function settlementPostingService(
  options: RetryOptions,
  notify: () => void,
): ServiceImpl<typeof SettlementPostingService> {
  const { db } = options
  return {
    async restartBackfill() {
      const state = await restartBackfill(db)
      notify()
      return { backfill: backfillMessage(state, await countRefusals(db)) }
    },
    async retrySettlement({ settlementId }) {
      const refused = await retrySettlement(options, settlementId)
      return refused === undefined ? {} : { refused: refusedMessage(refused) }
    },
    async postPaymentSettlements({ paymentId }) {
      const { postedCount, refused } = await postPayment(options, paymentId)
      return { postedCount, refused: refused.map(refusedMessage) }
    },
    async getBackfill({ settlementId, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize, defaultPageSize)
      const after = cursorIn(pageToken)
      const state = await readBackfill(db)
      const [refusedCount, found] = await Promise.all([
        countRefusals(db),
        listRefusals(db, size + 1, after, settlementId || undefined),
      ])
      const page = pageOf(found, size, (last) => tokenOf(last.refuseUs, last.settlementId))
      return {
        backfill: backfillMessage(state, refusedCount),
        refused: page.rows.map(refusedMessage),
        nextPageToken: page.nextPageToken,
      }
    },
  }
}

function refusedMessage(one: Refusal & { refuseTime: Date }) {
  const { settlementId, projectId, reason, refuseTime } = one
  return { settlementId, projectId, reason, refuseTime: timestampFromDate(refuseTime) }
}

function backfillMessage(state: BackfillState, refusedCount: number) {
  const { round, checkedCount, postedCount, startTime, caughtUpTime } = state
  return {
    round,
    checkedCount,
    postedCount,
    refusedCount: BigInt(refusedCount),
    startTime: timestampFromDate(startTime),
    ...(caughtUpTime === null ? {} : { caughtUpTime: timestampFromDate(caughtUpTime) }),
  }
}
