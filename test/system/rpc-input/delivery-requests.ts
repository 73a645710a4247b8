// The good requests of delivery, and of services that several processes serve, for the sweep of bad input.
import { randomUUID } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { newId } from '#core/identity/id.ts'
import { tokenOf } from '#core/paging.ts'
import { ActionAuditService } from '#gen/payweave/audit/v1/audit_pb.js'
import { ApiLogService, RequestOutcome } from '#gen/payweave/delivery/v1/api_log_pb.js'
import { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import {
  DeliveryKind,
  DeliveryService,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { BreakerState, EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { MerchantDeliveryService } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { ReplayJobState, ReplayService } from '#gen/payweave/delivery/v1/replay_pb.js'
import { EventDeadLetterService } from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { type Facts, inAnHour, type Requests, requestsFor } from './facts.ts'

/** The requests of the delivery process. */
export function deliveryRequests({ projectId, merchantId }: Facts): Requests {
  const { NOTIFY } = DeliveryKind
  const { EXHAUSTED } = DeliveryState
  const delivered = { projectId, deliveryId: randomUUID() }
  const pageToken = Buffer.from(`1700000000000 ${randomUUID()}`).toString('base64url')
  return {
    ...requestsFor(DeliveryService, {
      listDeliveries: [
        {
          projectId,
          subjectId: 'a',
          kind: NOTIFY,
          state: EXHAUSTED,
          pageSize: 10,
          pageToken,
          startTime: timestampFromDate(new Date('2026-01-01')),
          endTime: inAnHour(),
        },
      ],
      getDelivery: [delivered],
      replayDelivery: [{ ...delivered, requestId: randomUUID() }],
      cancelDelivery: [delivered],
      tailDeliveries: [{ projectId, kind: NOTIFY }],
    }),
    ...requestsFor(MerchantDeliveryService, {
      listMerchantDeliveries: [
        {
          projectId,
          merchantId,
          paymentId: randomUUID(),
          eventType: 'payment_completed',
          state: EXHAUSTED,
          startTime: timestampFromDate(new Date('2026-01-01')),
          endTime: inAnHour(),
          pageSize: 10,
          pageToken,
        },
      ],
      getMerchantDelivery: [{ ...delivered, merchantId }],
      resendMerchantDelivery: [{ ...delivered, merchantId, requestId: randomUUID() }],
      listPaymentPushes: [{ projectId, merchantId, paymentId: randomUUID() }],
    }),
    ...requestsFor(ApiLogService, {
      recordRequests: [
        {
          requests: [
            {
              entryId: newId(),
              projectId,
              merchantId,
              requestId: randomUUID(),
              route: 'POST /quote',
              version: '2024-10-01',
              status: 400,
              errorCode: 'INVALID_PARAMETER',
              durationMs: 12,
              clientLeft: true,
              idempotencyKey: 'order-1',
              query: '{"version":"2024-10-01"}',
              requestBody: '{"request_amount":"10.00"}',
              responseBody: '{"status":"error"}',
              endTime: inAnHour(),
            },
          ],
          contents: [{ projectId, compressedLines: zstdCompressSync('{}\n\n{}\n') }],
        },
      ],
      listRequests: [
        {
          projectId,
          outcome: RequestOutcome.REFUSED,
          status: 400,
          errorCode: 'INVALID_PARAMETER',
          route: 'POST /quote',
          requestId: randomUUID(),
          idempotencyKey: 'order-1',
          startTime: timestampFromDate(new Date('2026-01-01')),
          endTime: inAnHour(),
          pageSize: 10,
          pageToken: newId(),
        },
      ],
      listAllRequests: [
        {
          outcome: RequestOutcome.REFUSED,
          status: 400,
          errorCode: 'INVALID_PARAMETER',
          route: 'POST /quote',
          requestId: randomUUID(),
          idempotencyKey: 'order-1',
          startTime: timestampFromDate(new Date('2026-01-01')),
          endTime: inAnHour(),
          pageSize: 10,
          pageToken: newId(),
        },
      ],
      getRequest: [{ projectId, entryId: newId() }],
    }),
    ...requestsFor(DeadLetterService, {
      listDeadLetters: [
        {
          state: DeliveryState.GONE,
          deliveryId: randomUUID(),
          oldestFirst: true,
          pageSize: 10,
          pageToken: Buffer.from(`1700000000000000 ${randomUUID()}`).toString('base64url'),
        },
      ],
    }),
    ...requestsFor(EndpointService, {
      getEndpoint: [{ projectId, endpointId: randomUUID() }],
      listEndpoints: [
        {
          projectId,
          pageSize: 10,
          pageToken: Buffer.from('https://shop.example notify').toString('base64url'),
          onlyPaused: true,
          breaker: BreakerState.OPEN,
        },
      ],
      pauseEndpoint: [{ projectId, endpointId: randomUUID(), note: 'their servers move' }],
      resumeEndpoint: [{ projectId, endpointId: randomUUID(), note: 'they are back' }],
      listEndpointChanges: [
        {
          projectId,
          kind: NOTIFY,
          pageSize: 1,
          pageToken: tokenOf(randomUUID()),
        },
      ],
      listAllEndpoints: [
        {
          breaker: BreakerState.OPEN,
          pageSize: 10,
          pageToken: Buffer.from(`${projectId} https://shop.example notify`).toString('base64url'),
          onlyPaused: true,
        },
      ],
    }),
    ...requestsFor(ReplayService, {
      createReplayJob: [
        {
          projectId,
          idempotencyKey: randomUUID(),
          filter: {
            kind: NOTIFY,
            state: EXHAUSTED,
            fromTime: timestampFromDate(new Date('2026-01-01')),
            toTime: inAnHour(),
            origin: 'https://shop.example',
            subjectId: randomUUID(),
          },
          ratePerS: 10,
        },
      ],
      getReplayJob: [{ projectId, jobId: randomUUID() }],
      cancelReplayJob: [{ projectId, jobId: randomUUID() }],
      pauseReplayJob: [{ projectId, jobId: randomUUID() }],
      resumeReplayJob: [{ projectId, jobId: randomUUID() }],
      listReplayJobs: [
        {
          projectId,
          state: ReplayJobState.DONE,
          pageSize: 10,
          pageToken: Buffer.from(`1700000000000 ${randomUUID()}`).toString('base64url'),
        },
      ],
    }),
    ...requestsFor(ActionAuditService, {
      listActions: [
        {
          caller: 'on-call',
          target: 'attempt-1',
          pageSize: 10,
          pageToken: Buffer.from(randomUUID()).toString('base64url'),
        },
      ],
    }),
    ...requestsFor(EventDeadLetterService, {
      listEventDeadLetters: [
        {
          eventId: randomUUID(),
          pageSize: 10,
          pageToken: Buffer.from(`1700000000000000 ${randomUUID()}`).toString('base64url'),
        },
      ],
      retryEventDeadLetter: [{ deadLetterId: randomUUID() }],
      discardEventDeadLetter: [{ deadLetterId: randomUUID(), note: 'of no use' }],
      listEventDeadLetterDecisions: [
        {
          eventId: randomUUID(),
          pageSize: 10,
          pageToken: Buffer.from(`1700000000000000 ${randomUUID()}`).toString('base64url'),
        },
      ],
    }),
    ...requestsFor(InboxService, {
      seen: [{ eventIds: [randomUUID()] }],
      processEvents: [
        {
          events: [
            {
              eventId: randomUUID(),
              subject: 'pw.payments.settled',
              occurredTime: timestampFromDate(new Date('2026-01-01')),
              projectId: randomUUID(),
              payload: Buffer.from('no payment'),
              traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
              requestId: randomUUID(),
            },
          ],
        },
      ],
    }),
  }
}
