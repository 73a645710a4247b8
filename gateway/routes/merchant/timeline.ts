// Renders the history of a payment: what payments knows, and the pushes that delivery knows, in one order.
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { namedUuid } from '#core/identity/id.ts'
import { formatAmount } from '#core/money/money.ts'
import { refusalReasons, wordOf } from '#core/payment/words.ts'
import { formatIso } from '#core/text/time.ts'
import { type Attempt, AttemptOutcome } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { MerchantDelivery } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import {
  PaymentEventType,
  type PaymentHistoryEvent,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { refusal } from '../../http/envelope.ts'
import { kindOf } from './deliveries.ts'

/** Types of the entries about pushes. */
export const pushTypes = ['push_created', 'push_delivered', 'push_failed'] as const

/** Types of the entries about the payment, in lower case. */
export const paymentEventTypes = Object.values(PaymentEventType)
  .filter((name): name is keyof typeof PaymentEventType => typeof name === 'string')
  .filter((name) => name !== 'UNSPECIFIED')
  .map((name) => name.toLowerCase())

type Entry = { time: Date; shown: Record<string, unknown> }

/** The entries, oldest first. */
export function renderTimeline(
  events: readonly PaymentHistoryEvent[],
  currency: string,
  deliveries: readonly MerchantDelivery[],
): Record<string, unknown>[] {
  const entries = [
    ...events.map((event) => paymentEntry(event, currency)),
    ...deliveries.flatMap(pushEntries),
  ]
  return entries
    .toSorted((one, other) => one.time.getTime() - other.time.getTime())
    .map(({ shown }) => shown)
}

function paymentEntry(event: PaymentHistoryEvent, currency: string): Entry {
  const { party, attemptId, reason, releaseTime } = event
  const name = PaymentEventType[event.type]
  if (name === undefined) throw refusal('INTERNAL_ERROR')
  const refusalReason = wordOf(refusalReasons, event.refusalReason)
  const about = party.case === 'payeeMobileNumber' ? 'payee' : 'payer'
  const details = {
    amount: formatAmount(event.amountMinor, currency),
    currency,
    ...(attemptId === '' ? {} : { attempt_id: attemptId }),
    ...(reason === '' ? {} : { reason }),
    ...(refusalReason === undefined ? {} : { refusal_reason: refusalReason }),
    ...(releaseTime === undefined ? {} : { release_time: formatIso(timestampDate(releaseTime)) }),
  }
  return entryOf(event.eventId, name.toLowerCase(), event.time, {
    ...(party.case === undefined ? {} : { [about]: { mobile_number: party.value } }),
    details,
  })
}

function pushEntries(delivery: MerchantDelivery): Entry[] {
  const { deliveryId, eventType, kind, createTime, attempts } = delivery
  const common = { delivery_id: deliveryId, event_type: eventType, kind: kindOf(kind) }
  const created = entryOf(namedUuid('push', deliveryId), 'push_created', createTime, {
    details: common,
  })
  const ended = attempts.filter(({ outcome }) => outcome !== AttemptOutcome.STARTED)
  return [created, ...ended.map((attempt) => attemptEntry(deliveryId, common, attempt))]
}

function attemptEntry(deliveryId: string, common: object, attempt: Attempt): Entry {
  const { number, status, error } = attempt
  const type = attempt.outcome === AttemptOutcome.DELIVERED ? 'push_delivered' : 'push_failed'
  return entryOf(namedUuid('push', deliveryId, String(number)), type, endOf(attempt), {
    details: {
      ...common,
      attempt: number,
      http_status: status === 0 ? null : status,
      error: error === '' ? null : error,
    },
  })
}

function endOf({ startTime, durationMs }: Attempt): Timestamp | undefined {
  if (startTime === undefined) return undefined
  return timestampFromDate(new Date(timestampDate(startTime).getTime() + durationMs))
}

function entryOf(
  eventId: string,
  type: string,
  time: Timestamp | undefined,
  more: Record<string, unknown>,
): Entry {
  if (time === undefined) throw refusal('INTERNAL_ERROR')
  const at = timestampDate(time)
  return { time: at, shown: { event_id: eventId, type, time: formatIso(at), ...more } }
}
