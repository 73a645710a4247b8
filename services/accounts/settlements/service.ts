// Maps accounts.v1.SettlementPostingService to the job and back; it must not hold a statement.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SettlementPostingService } from '#gen/accounts/v1/settlement_posting_pb.js'
import type { Queryable } from '#runtime/db.ts'
import {
  type BackfillState,
  countRefusals,
  listRefusals,
  readBackfill,
  restartBackfill,
} from './backfill-store.ts'

const mostRefused = 100

/** The handlers of SettlementPostingService. `kick` wakes the job. */
export function settlementPostingService(
  db: Queryable,
  kick: () => void,
): ServiceImpl<typeof SettlementPostingService> {
  return {
    async restartBackfill() {
      const state = await restartBackfill(db)
      kick()
      return { backfill: backfillMessage(state, await countRefusals(db)) }
    },
    async getBackfill() {
      const state = await readBackfill(db)
      const [refusedCount, refused] = await Promise.all([
        countRefusals(db),
        listRefusals(db, mostRefused),
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
