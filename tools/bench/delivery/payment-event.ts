// Payment events as payments writes them, for measurements and the simulation: the first is a notify, the later ones are callbacks, which a payment numbers.
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

const transitions = [
  PaymentTransition.CREATED,
  PaymentTransition.PAYER_PAID,
  PaymentTransition.REFUNDED,
]
const amountMinor = 10_050n

/** The payload of the event that is `step` transitions after the creation of a payment. */
export function payloadOf(payment: PaymentOfRun, step: number): Uint8Array {
  const { paymentId, projectId, notify, callback } = payment
  return toBinary(
    PaymentEventSchema,
    create(PaymentEventSchema, {
      transition: transitions[step % transitions.length] as PaymentTransition,
      payment: {
        paymentId,
        projectId,
        transactionId: paymentId,
        amountMinor,
        currency: 'USD',
        state: step === 0 ? PaymentState.PENDING : PaymentState.PAID,
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
            state: step === 0 ? PayerState.PENDING : PayerState.PAID,
          },
        ],
        payees: [{ mobileNumber: '+12025550199', amountMinor }],
        urls: { notify, callback },
      },
      notices:
        step === 0
          ? [
              {
                kind: NoticeKind.PAYMENT_INITIATED,
                about: { case: 'payerIndex' as const, value: 0 },
              },
            ]
          : [],
      callbackSequence: step,
    }),
  )
}

/** The event of a new payment of a project, with a push to one URL. */
export function paymentEvent(projectId: string, notify: string): Event {
  return create(EventSchema, {
    eventId: newId(),
    subject: paymentSubject,
    occurredTime: timestampNow(),
    projectId,
    payload: payloadOf({ paymentId: newId(), projectId, notify, callback: '' }, 0),
  })
}

/** A payment of a run. */
export type PaymentOfRun = {
  paymentId: string
  projectId: string
  notify: string
  callback: string
}
