// Maps payweave.accounts.v1.SettlementPostingService to the job and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import {
  type BackfillState,
  countRefusals,
  listRefusals,
  readBackfill,
  restartBackfill,
} from '../store/backfill-store.ts'

const maxRefused = 100

/**
 * The handlers of SettlementPostingService; `notify` starts a round of the job. They reject as a Queryable does, and
 * return at most 100 refused settlements.
 */
export function settlementPostingService(
  db: Queryable,
  notify: () => void,
): ServiceImpl<typeof SettlementPostingService> {
  return {
    async restartBackfill() {
      const state = await restartBackfill(db)
      notify()
      return { backfill: backfillMessage(state, await countRefusals(db)) }
    },
    async getBackfill() {
      const state = await readBackfill(db)
      const [refusedCount, refused] = await Promise.all([
        countRefusals(db),
        listRefusals(db, maxRefused),
      ])
      return {
        backfill: backfillMessage(state, refusedCount),
        refused: refused.map(({ refuseTime, ...rest }) => ({
          ...rest,
          refuseTime: timestampFromDate(refuseTime),
        })),
      }
    },
  }
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
