// Payment events as payments writes them, one push each, for measurements.
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampNow } from '@bufbuild/protobuf/wkt'
import { newId } from '#core/identity/id.ts'
import { type Event, EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import {
  NoticeKind,
  PaymentEventSchema,
  PaymentTransition,
} from '#gen/payweave/payments/v1/payment_event_pb.js'
import {
  FraudCheckStatus,
  PayerState,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
} from '#gen/payweave/payments/v1/payments_pb.js'

/** The subject of these events. */
export const paymentSubject = 'pw.payments.event'

const amountMinor = 10_050n

/** A new payment of a project, with a push to one URL. */
export function paymentEvent(projectId: string, notify: string): Event {
  const payload = create(PaymentEventSchema, {
    transition: PaymentTransition.CREATED,
    payment: {
      paymentId: newId(),
      projectId,
      transactionId: 'order 7',
      amountMinor,
      currency: 'USD',
      state: PaymentState.PENDING,
      fraudCheckStatus: FraudCheckStatus.SKIPPED,
      fees: { totalMinor: 0n },
      payers: [
        {
          mobileNumber: '+12025550110',
          firstName: 'Ama',
          lastName: 'Mensah',
          paymentChannel: PaymentChannel.PAYMENT_LINK,
          paymentMethod: PaymentMethod.WALLET,
          amountMinor,
          state: PayerState.PENDING,
        },
      ],
      payees: [{ mobileNumber: '+12025550199', amountMinor }],
      urls: { notify },
    },
    notices: [
      { kind: NoticeKind.PAYMENT_INITIATED, about: { case: 'payerIndex' as const, value: 0 } },
    ],
  })
  return create(EventSchema, {
    eventId: newId(),
    subject: paymentSubject,
    occurredTime: timestampNow(),
    projectId,
    payload: toBinary(PaymentEventSchema, payload),
  })
}
