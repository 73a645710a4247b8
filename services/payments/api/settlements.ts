// Maps payweave.payments.v1.SettlementService to the store and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { pageSizeOf } from '#core/paging.ts'
import type { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { listSettlements } from '../store/settlement-store.ts'
import { settlementMessage } from './settlement-messages.ts'

const usualPageSize = 500
/** The place before every settlement. */
const firstToken = '00000000-0000-0000-0000-000000000000'

/**
 * The handler of SettlementService. A page ends before the first settlement so young that an older one may still be
 * committed, so that a reader by token misses none. Rejects as a Queryable does.
 */
export function settlementService(db: Queryable): ServiceImpl<typeof SettlementService> {
  return {
    async listSettlements({ pageSize, pageToken }) {
      const limit = pageSizeOf(pageSize, usualPageSize)
      const afterId = pageToken === '' ? firstToken : pageToken
      const found = await listSettlements(db, afterId, limit)
      // Ids are not in order of commit: a page stops before settlements so young that one with a smaller id may still
      // come.
      const firstYoung = found.findIndex(({ isYoung }) => isYoung)
      const records = firstYoung === -1 ? found : found.slice(0, firstYoung)
      return {
        settlements: records.map(({ settlement, payment, createTime }) =>
          settlementMessage(settlement, payment, createTime),
        ),
        nextPageToken: records.at(-1)?.settlement.settlementId ?? afterId,
        caughtUp: records.length < limit,
      }
    },
  }
}
