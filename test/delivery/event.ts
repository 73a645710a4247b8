// Payment events as the payments service writes them, for tests. It must not publish them.
import { randomUUID } from 'node:crypto'
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
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

/** What a test wants to differ. */
export interface EventChanges {
  projectId?: string
  paymentId?: string
  notify?: string
  callback?: string
  payers?: number
  notices?: { kind: NoticeKind; payerIndex?: number; payeeIndex?: number }[]
  callbackSequence?: number
}

/** When the events happened. */
export const occurredAt = new Date('2026-03-01T10:11:12.345Z')

/** A CREATED event of a payment by link: one notice a payer. */
export function createdEvent(changes: EventChanges = {}): Event {
  const { projectId = randomUUID(), notify = '', callback = '', payers = 1 } = changes
  const indexes = Array.from({ length: payers }, (_, index) => index)
  const notices: NonNullable<EventChanges['notices']> =
    changes.notices ??
    indexes.map((payerIndex) => ({ kind: NoticeKind.PAYMENT_INITIATED, payerIndex }))
  const payload = create(PaymentEventSchema, {
    transition: PaymentTransition.CREATED,
    payment: {
      paymentId: changes.paymentId ?? 'payment-1',
      projectId,
      transactionId: 'order 7',
      amountMinor: 10_050n * BigInt(payers),
      currency: 'USD',
      state: PaymentState.PENDING,
      fraudCheckStatus: FraudCheckStatus.SKIPPED,
      fees: { totalMinor: 0n },
      payers: indexes.map((index) => ({
        mobileNumber: `+120255501${index}0`,
        firstName: 'Ama',
        lastName: 'Mensah',
        paymentChannel: PaymentChannel.PAYMENT_LINK,
        paymentMethod: PaymentMethod.WALLET,
        amountMinor: 10_050n,
        state: PayerState.PENDING,
      })),
      payees: [{ mobileNumber: '+12025550199', amountMinor: 10_050n * BigInt(payers) }],
      urls: { notify, callback },
    },
    notices: notices.map(({ kind, payerIndex, payeeIndex }) => ({
      kind,
      about:
        payeeIndex === undefined
          ? { case: 'payerIndex' as const, value: payerIndex ?? 0 }
          : { case: 'payeeIndex' as const, value: payeeIndex },
    })),
    callbackSequence: changes.callbackSequence ?? 0,
  })
  return create(EventSchema, {
    eventId: randomUUID(),
    subject: 'pw.payments.event',
    occurredTime: timestampFromDate(occurredAt),
    projectId,
    payload: toBinary(PaymentEventSchema, payload),
  })
}
