// Maps DeadLetterService to the store and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { isUuid } from '#core/identity/id.ts'
import type { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { type DeadPlace, deadStates, listDeadLetters } from '../store/dead-letter-store.ts'
import { invalid, pageSize, wireDelivery, wireStates } from './messages.ts'

/**
 * The handlers of DeadLetterService. `listDeadLetters` refuses a state in which no push is given up and a page token that
 * is not ours with INVALID_PARAMETER, and rejects as a Queryable does.
 */
export function deadLetterService(db: Queryable): ServiceImpl<typeof DeadLetterService> {
  return {
    async listDeadLetters({ state: wire, pageToken, ...request }) {
      const state = deadStates.find((one) => wireStates[one] === wire)
      if (wire !== DeliveryState.UNSPECIFIED && state === undefined) {
        throw invalid('state', 'must be one in which a push was given up')
      }
      const limit = pageSize(request.pageSize)
      const rows = await listDeadLetters(db, state, placeOf(pageToken), limit + 1)
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      return {
        deliveries: page.map(wireDelivery),
        nextPageToken: last === undefined ? '' : tokenOf(last),
      }
    },
  }
}

function tokenOf({ endedUs, deliveryId }: DeadPlace): string {
  return Buffer.from(`${endedUs} ${deliveryId}`).toString('base64url')
}

function placeOf(token: string): DeadPlace | undefined {
  if (token === '') return undefined
  const [, us = '', deliveryId = ''] =
    /^(\d{1,17}) (\S{36})$/.exec(Buffer.from(token, 'base64url').toString()) ?? []
  if (us === '' || !isUuid(deliveryId)) throw invalid('page_token', 'is not one of ours')
  return { endedUs: BigInt(us), deliveryId }
}
