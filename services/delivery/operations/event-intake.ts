// Renders the pushes of an event.
import { fromBinary } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { isUuid } from '#core/identity/id.ts'
import { type NoticeView, renderNotice } from '#core/payment/notice.ts'
import { type PaymentView, readPayment, renderCallback } from '#core/payment/snapshot.ts'
import { type NoticeKind, noticeKinds, wordOf } from '#core/payment/words.ts'
import type { Event } from '#gen/payweave/events/v1/events_pb.js'
import {
  type Notice,
  type PaymentEvent,
  PaymentEventSchema,
  PaymentTransition,
} from '#gen/payweave/payments/v1/payment_event_pb.js'
import { UnprocessableEvent } from '#platform/events/inbox.ts'
import { recordedTrace } from '#platform/telemetry/spans.ts'
import { type DeliveryKind, deliveryId, receiverOf } from '../domain/delivery.ts'
import type { NewDelivery } from '../store/intake-store.ts'
import { onboardingCallback, onboardingEvents } from './onboarding-intake.ts'

/**
 * The subjects of payments' events, as one pattern, so that events with and without settlements arrive in one order. Events that
 * need no push have a subject with one more word (`pw.payments.event.unaddressed`), which the pattern does not match.
 */
const paymentEvents = 'pw.payments.*'

/** The subjects that deliveries are made from. */
export const subjects = [paymentEvents, onboardingEvents]

const visibleAscii = /^[\x21-\x7e]{1,64}$/

/**
 * The deliveries of one event, with the same ids and bytes each time. A request without a notify or callback URL has no deliveries
 * of that kind. Throws an UnprocessableEvent for an event that can never be read.
 */
export function deliveriesOf(event: Event): NewDelivery[] {
  try {
    return event.subject === onboardingEvents ? [onboardingCallback(event)] : paymentPushes(event)
  } catch (error) {
    const reason = error instanceof RangeError ? error.message : 'the payload cannot be read'
    throw new UnprocessableEvent(event.eventId, reason)
  }
}

function paymentPushes(event: Event): NewDelivery[] {
  const paymentEvent = fromBinary(PaymentEventSchema, event.payload)
  const { payment, notices, callbackSequence } = paymentEvent
  if (payment === undefined || event.occurredTime === undefined) {
    throw new RangeError('the event has no payment or no time')
  }
  const { notify = '', callback = '' } = payment.urls ?? {}
  // An event with settlements, or from a release that had one subject for all payments.
  if (notify === '' && callback === '') return []
  const occurredAt = timestampDate(event.occurredTime)
  const view = readPayment(payment, occurredAt)
  const push = pushOf(event, paymentEvent, occurredAt)
  const deliveries: NewDelivery[] = []
  if (notify !== '') {
    for (const notice of notices)
      deliveries.push(push(noticePush(view, notice, occurredAt), notify))
  }
  if (callback !== '' && callbackSequence > 0) {
    const body = JSON.stringify(renderCallback(view, callbackSequence, occurredAt))
    const eventType = callbackTypes[paymentEvent.transition] ?? 'payment_changed'
    const named = { kind: 'callback', name: 'callback', party: String(callbackSequence) } as const
    deliveries.push(push({ ...named, eventType, body }, callback))
  }
  return deliveries
}

/** The event type of a callback, in the names that notifies have. */
const callbackTypes: Partial<Record<PaymentTransition, NoticeKind>> = {
  [PaymentTransition.PAYER_PAID]: 'payment_completed',
  [PaymentTransition.CANCELLED]: 'payment_cancelled',
  [PaymentTransition.EXPIRED]: 'payment_expired',
  [PaymentTransition.FAILED]: 'payment_failed',
  [PaymentTransition.REFUNDED]: 'payment_refunded',
  [PaymentTransition.LATE_MONEY]: 'payment_refunded',
}

type NamedPush = {
  kind: DeliveryKind
  name: string
  party: string
  eventType: string
  body: string
}

function noticePush(view: PaymentView, notice: Notice, occurredAt: Date): NamedPush {
  const { name, noticeView } = readNotice(notice)
  const party = `${notice.about.case}.${noticeView.index}`
  const body = renderNotice(view, noticeView, occurredAt)
  return { kind: 'notify', name, party, eventType: name, body }
}

function readNotice(notice: Notice): { name: string; noticeView: NoticeView } {
  const kind = wordOf(noticeKinds, notice.kind)
  const index = notice.about.value
  if (kind === undefined || index === undefined) {
    throw new RangeError('the event has a notice of another contract')
  }
  return { name: kind, noticeView: { kind, index } }
}

function pushOf(event: Event, { payment }: PaymentEvent, occurredAt: Date) {
  const projectId = event.projectId === '' ? (payment?.projectId ?? '') : event.projectId
  const subjectId = payment?.paymentId ?? ''
  if (!isUuid(projectId)) throw new RangeError('the event has no valid project id')
  // The id is sent in a header of each push.
  if (!visibleAscii.test(subjectId)) {
    throw new RangeError('the event has an invalid payment id')
  }
  const { merchantId = '' } = payment ?? {}
  const owner = isUuid(merchantId) ? { merchantId } : {}
  return ({ kind, name, party, eventType, body }: NamedPush, url: string): NewDelivery => ({
    deliveryId: deliveryId(event.eventId, name, party),
    projectId,
    eventId: event.eventId,
    kind,
    subjectId,
    ...receiverOf(projectId, url, kind),
    body: Buffer.from(body),
    occurredAt,
    traceparent: recordedTrace(event),
    ...owner,
    eventType,
  })
}
