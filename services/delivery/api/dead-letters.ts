// Maps DeadLetterService to the store and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { invalid } from '#core/errors/errors.ts'
import { cursorIn, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import type { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { deadStates, findDeadLetter, listDeadLetters } from '../store/dead-letter-store.ts'
import { wireDelivery, wireStates } from './messages.ts'

/**
 * The handlers of DeadLetterService. `listDeadLetters` refuses a state in which no push is given up and a page token that
 * is not ours with INVALID_PARAMETER, and rejects as a Queryable does.
 */
export function deadLetterService(db: Queryable): ServiceImpl<typeof DeadLetterService> {
  return {
    async listDeadLetters({ state: wire, deliveryId, pageToken, ...request }) {
      const state = deadStates.find((one) => wireStates[one] === wire)
      if (wire !== DeliveryState.UNSPECIFIED && state === undefined) {
        throw invalid('state', 'must be one in which a push was given up')
      }
      const size = pageSizeOf(request.pageSize)
      const cursor = cursorIn(pageToken)
      const after = cursor && { endedUs: cursor.at, deliveryId: cursor.id }
      const order = request.oldestFirst ? 'oldest' : 'newest'
      const rows =
        deliveryId === ''
          ? await listDeadLetters(db, state, after, size + 1, order)
          : [await findDeadLetter(db, deliveryId, state)].filter((row) => row !== undefined)
      const page = pageOf(rows, size, (last) => tokenOf(last.endedUs, last.deliveryId))
      return { deliveries: page.rows.map(wireDelivery), nextPageToken: page.nextPageToken }
    },
  }
}
