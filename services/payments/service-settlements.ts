// Maps payments.v1.SettlementService to the store and back; it must not hold a statement.
import type { ServiceImpl } from '@connectrpc/connect'
import { invalid } from '#core/errors.ts'
import { isUuid } from '#core/id.ts'
import type { SettlementService } from '#gen/payments/v1/settlement_pb.js'
import type { Queryable } from '#runtime/db.ts'
import { settlementMessage } from './settlement-messages.ts'
import { listSettlements } from './settlement-store.ts'

const pageSizes = { usual: 500, most: 1_000 } as const
/** Before every settlement. */
const firstToken = '00000000-0000-0000-0000-000000000000'

/** The handlers of SettlementService. */
export function settlementService(db: Queryable): ServiceImpl<typeof SettlementService> {
  return {
    async listSettlements({ pageSize, pageToken }) {
      const limit = pageSize === 0 ? pageSizes.usual : pageSize
      if (limit > pageSizes.most) throw invalid('page_size', `must be 1 to ${pageSizes.most}`)
      const afterId = pageToken === '' ? firstToken : pageToken
      if (!isUuid(afterId)) throw invalid('page_token', 'is not one of ours')
      const found = await listSettlements(db, afterId, limit)
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
