// Stand-ins for the lists of payments and for delivery, which answer what a test says; they must not hold assertions.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import {
  AttemptOutcome,
  DeliveryKind,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import type {
  ListMerchantDeliveriesRequest,
  MerchantDeliverySchema,
  MerchantDeliveryService,
  ResendMerchantDeliveryRequest,
} from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import {
  type ListPaymentsRequest,
  PaymentEventType,
  PaymentState,
  type PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'

export const deliveryId = '0198c000-0000-7000-8000-0000000000d1'
const eventId = '0198c000-0000-7000-8000-0000000000e1'
/** The one payment that the stand-ins know. */
export const paymentId = '0198c000-0000-7000-8000-0000000000aa'
const at = (ms: number) => timestampFromDate(new Date(Date.UTC(2026, 0, 1) + ms))

/** What the stand-ins were asked. */
export type SeenMerchant = {
  payments: ListPaymentsRequest[]
  deliveries: ListMerchantDeliveriesRequest[]
  resent: ResendMerchantDeliveryRequest[]
  reasons: string[]
  /** What both lists answer as the token of the next page. */
  nextPageToken: string
}

export function newSeenMerchant(): SeenMerchant {
  return { payments: [], deliveries: [], resent: [], reasons: [], nextPageToken: '' }
}

/** The lists and histories of payments. */
export function paymentListsStandIn(
  seen: SeenMerchant,
): Pick<ServiceImpl<typeof PaymentsService>, 'listPayments' | 'listPaymentEvents'> {
  return {
    listPayments(request) {
      seen.payments.push(request)
      const payment = {
        paymentId,
        transactionId: 'order-1',
        amountMinor: 10_000n,
        currency: 'TTD',
        description: 'Tickets',
        state: PaymentState.PARTIALLY_PAID,
        paidMinor: 4_000n,
        createTime: at(0),
        updateTime: at(1_500),
      }
      return { payments: [payment], nextPageToken: seen.nextPageToken }
    },
    listPaymentEvents({ paymentId: asked }) {
      if (asked !== paymentId) throw new Failure('PAYMENT_NOT_FOUND', `no payment ${asked}`)
      const common = { amountMinor: 10_000n, attemptId: '', reason: '' }
      const payer = { case: 'payerMobileNumber' as const, value: '868 350 1234' }
      return {
        currency: 'TTD',
        events: [
          { ...common, eventId, type: PaymentEventType.PAYMENT_CREATED, time: at(0) },
          {
            ...common,
            eventId: eventId.replace('e1', 'e4'),
            type: PaymentEventType.ATTEMPT_REFUSED,
            time: at(4_000),
            party: payer,
            attemptId: 'attempt-0',
            refusalReason: RefusalReason.INSUFFICIENT_FUNDS,
          },
          {
            ...common,
            eventId: eventId.replace('e1', 'e2'),
            type: PaymentEventType.ATTEMPT_SUCCEEDED,
            time: at(5_000),
            party: payer,
            attemptId: 'attempt-1',
          },
          {
            ...common,
            eventId: eventId.replace('e1', 'e3'),
            type: PaymentEventType.PAYMENT_REFUNDED,
            time: at(9_000),
            reason: 'Sold out',
          },
        ],
      }
    },
  }
}

/** Delivery, with one push of the payment. */
export function deliveriesStandIn(seen: SeenMerchant): ServiceImpl<typeof MerchantDeliveryService> {
  const whole = (asked: string) => {
    if (asked !== deliveryId) throw new Failure('DELIVERY_NOT_FOUND', `no delivery ${asked}`)
    return { delivery: push(DeliveryState.EXHAUSTED) }
  }
  return {
    listMerchantDeliveries(request) {
      seen.deliveries.push(request)
      const delivery = { ...push(DeliveryState.EXHAUSTED), attempts: [], body: new Uint8Array() }
      return { deliveries: [delivery], nextPageToken: seen.nextPageToken }
    },
    getMerchantDelivery: ({ deliveryId: asked }) => whole(asked),
    resendMerchantDelivery(request) {
      const answer = whole(request.deliveryId)
      seen.resent.push(request)
      return answer
    },
    listPaymentPushes: () => ({ deliveries: [push(DeliveryState.EXHAUSTED)] }),
  }
}

function push(state: DeliveryState): MessageInitShape<typeof MerchantDeliverySchema> {
  const attempt = { number: 1, startTime: at(2_000), durationMs: 30, error: '' }
  return {
    deliveryId,
    eventId,
    eventType: 'payment_initiated',
    kind: DeliveryKind.NOTIFY,
    url: 'https://shop.example/notify?a=1',
    state,
    attemptCount: 2,
    createTime: at(1_000),
    paymentId,
    attempts: [
      {
        ...attempt,
        outcome: AttemptOutcome.REFUSED,
        status: 500,
        answer: Buffer.from('an error page'),
      },
      {
        ...attempt,
        number: 2,
        startTime: at(3_000),
        outcome: AttemptOutcome.CONNECTION_FAILED,
        error: 'ECONNREFUSED',
      },
    ],
    body: Buffer.from('{"event_type":"payment_initiated","amount":100.00}'),
  }
}
