// Maps DeliveryService to deliveries and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { pageOf, pageSizeOf, timeCursorIn, tokenOf } from '#core/paging.ts'
import { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import type { DeliveryService } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { Database } from '#platform/db/db.ts'
import { permissionOf, projectOf } from '#platform/rpc/auth/callers.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { cancelDelivery, replayDelivery } from '../store/operate-store.ts'
import {
  type DeliveryRow,
  findDelivery,
  listAttempts,
  listDeliveries,
} from '../store/read-store.ts'
import { readTime, wireAttempt, wireDelivery, wireKinds, wireStates, wordOf } from './messages.ts'
import type { Tail } from './tail.ts'

/** What the handlers need. */
export interface DeliveryServiceOptions {
  db: Database
  tail: Tail
  /** Called when a delivery became due. */
  onDue: () => void
}

/**
 * The handlers of DeliveryService. All reject as `projectOf` does. `listDeliveries` refuses unknown words and page
 * tokens with INVALID_PARAMETER, and so does `tailDeliveries`, which also refuses one tail too many with
 * RATE_LIMIT_EXCEEDED. The others refuse an unknown delivery with DELIVERY_NOT_FOUND; `replayDelivery` also with
 * DELIVERY_NOT_ENDED and IDEMPOTENCY_KEY_CONFLICT, `cancelDelivery` with DELIVERY_ENDED.
 */
export function deliveryService(
  options: DeliveryServiceOptions,
): ServiceImpl<typeof DeliveryService> {
  const { db, tail, onDue } = options
  return {
    async listDeliveries(request, context) {
      const projectId = projectOf(context, request.projectId)
      const size = pageSizeOf(request.pageSize)
      const cursor = timeCursorIn(request.pageToken)
      const end = readTime(request.endTime, 'end_time')
      // A page begins at the cursor, and never after the end.
      const isLater = cursor !== undefined && end !== undefined && cursor.time >= end
      const rows = await listDeliveries(db, {
        projectId,
        subjectId: request.subjectId === '' ? undefined : request.subjectId,
        kind: wordOf(wireKinds, request.kind, 'kind'),
        state: wordOf(wireStates, request.state, 'state'),
        startTime: readTime(request.startTime, 'start_time'),
        before:
          end !== undefined && (cursor === undefined || isLater)
            ? { createdAt: end, deliveryId: firstId }
            : cursor && { createdAt: cursor.time, deliveryId: cursor.id },
        limit: size + 1,
      })
      const page = pageOf(rows, size, (last) => tokenOf(last.createdAt.getTime(), last.deliveryId))
      return { deliveries: page.rows.map(wireDelivery), nextPageToken: page.nextPageToken }
    },
    async getDelivery(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { deliveryId } = request
      const row = await findDelivery(db, projectId, deliveryId)
      if (row === undefined) throw unknownDelivery()
      const attempts = (await listAttempts(db, row.deliveryId)).map((attempt) => ({
        ...wireAttempt(attempt),
        answer: attempt.answer ?? new Uint8Array(),
      }))
      const path = URL.parse(row.url)?.pathname ?? ''
      const body = mayReadBody(row) ? row.body : new Uint8Array()
      const delivery = { ...wireDelivery(row), path, body }
      return { delivery: { ...delivery, attempts } }
    },
    async replayDelivery(request, context) {
      const projectId = projectOf(context, request.projectId)
      const row = await replayDelivery(db, projectId, request.deliveryId, request.requestId)
      onDue()
      return { delivery: wireDelivery(row) }
    },
    async cancelDelivery(request, context) {
      const projectId = projectOf(context, request.projectId)
      const row = await cancelDelivery(db, projectId, request.deliveryId)
      return { delivery: wireDelivery(row) }
    },
    tailDeliveries(request, context) {
      const projectId = projectOf(context, request.projectId)
      const kind = wordOf(wireKinds, request.kind, 'kind')
      const person = currentContext()?.caller?.person?.id
      return tail.open({ projectId, kind, person }, context.signal)
    },
  }
}

const mayReadPersonalData = permissionOf(CustomerService.method.getPersonalData)

/** Whether the caller may read the body of a push: that of an onboarding has the number of an account holder. */
function mayReadBody({ kind }: DeliveryRow): boolean {
  if (kind !== 'onboarding') return true
  const caller = currentContext()?.caller
  return caller !== undefined && mayReadPersonalData(caller)
}

/** The cursor before all deliveries of one moment: the newest come first. */
const firstId = '00000000-0000-0000-0000-000000000000'

function unknownDelivery(): Failure {
  return new Failure('DELIVERY_NOT_FOUND', 'the project has no such delivery')
}
