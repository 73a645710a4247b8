// Maps payweave.payments.v1.SettlementService to the store and back.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { invalid } from '#core/errors/errors.ts'
import { idIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import type {
  ListSettlementsRequest,
  SettlementService,
} from '#gen/payweave/payments/v1/settlement_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import {
  findSettlement,
  listProjectSettlements,
  listSettlements,
  listSettlementsOf,
  listSettlementsOfPayment,
  listSettlementsOfReferences,
  type SettlementRecord,
  type SettlementWindow,
} from '../store/settlement-store.ts'
import { settlementMessage } from './settlement-messages.ts'

const defaultPageSize = 500
const maxOfPayment = 1_000
/** The cursor before every settlement. */
const firstToken = '00000000-0000-0000-0000-000000000000'

/**
 * The handlers of SettlementService. A page of `listSettlements` ends before the first settlement so young that an older one may still be
 * committed, so that a reader by token misses none. Refuses one time without the other, and a connector without times or references, with
 * INVALID_PARAMETER. `listProjectSettlements` rejects as `projectOf` does, and for a page token that is not ours with
 * INVALID_PARAMETER. Both reject as a Queryable does.
 */
export function settlementService(
  db: Queryable,
  defaultConnector: string,
): ServiceImpl<typeof SettlementService> {
  return {
    async listSettlements(request) {
      const { pageSize, pageToken } = request
      const afterId = pageToken === '' ? firstToken : pageToken
      const named = await findNamed(db, request, defaultConnector)
      if (named !== undefined)
        return { settlements: named.map(messageOf), nextPageToken: afterId, caughtUp: true }
      const limit = pageSizeOf(pageSize, defaultPageSize)
      const window = windowOf(request, defaultConnector)
      const found =
        window === undefined
          ? await listSettlements(db, afterId, limit)
          : await listSettlementsOf(db, afterId, limit, window)
      // Ids are not in order of commit: a page stops before settlements so young that one with a smaller id may still
      // come.
      const firstYoung = found.findIndex(({ isYoung }) => isYoung)
      const records = firstYoung === -1 ? found : found.slice(0, firstYoung)
      return {
        settlements: records.map(messageOf),
        nextPageToken: records.at(-1)?.settlement.settlementId ?? afterId,
        caughtUp: records.length < limit,
      }
    },
    async listProjectSettlements({ startTime, endTime, pageSize, pageToken, ...request }, context) {
      const size = pageSizeOf(pageSize)
      const found = await listProjectSettlements(db, {
        projectId: projectOf(context, request.projectId),
        afterId: idIn(pageToken),
        limit: size + 1,
        from: startTime && timestampDate(startTime),
        to: endTime && timestampDate(endTime),
      })
      const page = pageOf(found, size, ({ settlement }) => tokenOf(settlement.settlementId))
      return { settlements: page.rows.map(messageOf), nextPageToken: page.nextPageToken }
    },
  }
}

/** The settlements that a request names by an id, however young; undefined when it names none. */
async function findNamed(
  db: Queryable,
  { settlementId, paymentId, references, connector }: ListSettlementsRequest,
  defaultConnector: string,
): Promise<SettlementRecord[] | undefined> {
  if (settlementId !== '') return await findSettlement(db, settlementId)
  if (paymentId !== '') return await listSettlementsOfPayment(db, paymentId, maxOfPayment)
  if (references.length === 0) return undefined
  return await listSettlementsOfReferences(db, references, { connector, defaultConnector })
}

function messageOf({ settlement, payment, createTime }: SettlementRecord) {
  return settlementMessage(settlement, payment, createTime)
}

function windowOf(
  { createdFrom, createdTo, connector }: ListSettlementsRequest,
  defaultConnector: string,
): SettlementWindow | undefined {
  if (createdFrom !== undefined && createdTo !== undefined) {
    const [from, to] = [timestampDate(createdFrom), timestampDate(createdTo)]
    return { from, to, connector, defaultConnector }
  }
  if (createdFrom !== undefined) throw invalid('created_to', 'must be set with created_from')
  if (createdTo !== undefined) throw invalid('created_from', 'must be set with created_to')
  if (connector !== '') throw invalid('created_from', 'must be set with connector')
  return undefined
}
