// What happened to a payment, in sentences: its own history and the attempts of its pushes, oldest first.

import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { refusalReasons, wordOf } from '#core/payment/words.ts'
import { type Attempt, AttemptOutcome } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { MerchantDelivery } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import {
  type ListPaymentEventsResponse,
  PaymentEventType,
  type PaymentHistoryEvent,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { money } from './words.ts'

type Time = PaymentHistoryEvent['time']

/** One sentence, when it became true, the time that it ends with, and the page of the push that it is about. */
type Line = { at: Time; sentence: string; until?: Time; href?: string }

/** The whole history, oldest first. `pushes` is the path of the project's pushes. */
export function timelineOf(
  { events, currency }: Pick<ListPaymentEventsResponse, 'events' | 'currency'>,
  deliveries: MerchantDelivery[],
  pushes: string,
): Line[] {
  const own = events.map((event) => ({
    at: event.time,
    sentence: eventSentence(event, currency),
    until: event.releaseTime,
  }))
  const pushed = deliveries.flatMap((delivery) =>
    delivery.attempts.map((attempt) => ({
      at: endOf(attempt),
      sentence: `${delivery.eventType}, ${attemptSentence(attempt)}`,
      href: `${pushes}/${delivery.deliveryId}`,
    })),
  )
  // The sort is stable: entries of one moment stay in the order of the services.
  return [...own, ...pushed].toSorted((one, other) => msOf(one) - msOf(other))
}

/** When an attempt had its outcome; the start of one that has none yet. */
export function endOf({ startTime, durationMs, outcome }: Attempt): Time {
  if (startTime === undefined || outcome === AttemptOutcome.STARTED) return startTime
  return timestampFromMs(timestampMs(startTime) + durationMs)
}

function msOf({ at }: Line): number {
  return at === undefined ? 0 : timestampMs(at)
}

type Words = { party: string; amount: string; reason: string; refusal: string }

const sentences: Record<PaymentEventType, (words: Words) => string> = {
  [PaymentEventType.UNSPECIFIED]: () => 'something happened that this release has no words for',
  [PaymentEventType.PAYMENT_CREATED]: ({ amount }) => `the request for ${amount} was created`,
  [PaymentEventType.ATTEMPT_STARTED]: ({ party }) => `${party} began to pay`,
  [PaymentEventType.ATTEMPT_REFUSED]: ({ party, refusal }) =>
    `the attempt of ${party} was refused${refusal === '' ? '' : `: ${refusal}`}`,
  [PaymentEventType.ATTEMPT_SUCCEEDED]: ({ party, amount }) => `${party} paid ${amount}`,
  [PaymentEventType.UNEXPECTED_MONEY_RECEIVED]: ({ party, amount }) =>
    `${amount} came from ${party} for a share that had ended or was paid; it is refunded`,
  [PaymentEventType.PAYMENT_PARTIALLY_PAID]: () => 'the first of several payers has paid',
  [PaymentEventType.PAYMENT_PAID]: () => 'every payer has paid',
  [PaymentEventType.PAYMENT_CANCELLED]: () => 'the request was cancelled',
  [PaymentEventType.PAYMENT_EXPIRED]: () => 'the time to pay ran out',
  [PaymentEventType.PAYMENT_FAILED]: () => 'the request failed',
  [PaymentEventType.PAYMENT_REFUNDED]: ({ reason }) =>
    reason === '' ? 'the payment was refunded' : `the payment was refunded: ${reason}`,
  [PaymentEventType.REFUND_STARTED]: ({ party, amount }) =>
    `the refund of ${amount} to ${party} began`,
  [PaymentEventType.REFUND_COMPLETED]: ({ party, amount }) => `${party} has ${amount} back`,
  [PaymentEventType.REFUND_FAILED]: ({ party, amount }) =>
    `the back end refused the refund of ${amount} to ${party} for good`,
  [PaymentEventType.PAYOUT_SCHEDULED]: ({ party, amount }) =>
    `${amount} for ${party} is held until`,
  [PaymentEventType.PAYOUT_SENT]: ({ party, amount }) =>
    `the payout of ${amount} to ${party} was sent to the back end`,
  [PaymentEventType.PAYOUT_COMPLETED]: ({ party, amount }) => `${party} has received ${amount}`,
  [PaymentEventType.PAYOUT_FAILED]: ({ party, amount }) =>
    `the back end refused the payout of ${amount} to ${party} for good`,
  [PaymentEventType.PAYOUT_VOIDED]: ({ party, amount }) =>
    `the payout of ${amount} to ${party} was voided: the payment was refunded before its release`,
}

function eventSentence(event: PaymentHistoryEvent, currency: string): string {
  return sentences[event.type]({
    party: event.party.value ?? 'the payers',
    amount: money(event.amountMinor, currency),
    reason: event.reason,
    refusal: wordOf(refusalReasons, event.refusalReason)?.replaceAll('_', ' ') ?? '',
  })
}

/** One attempt in words: `attempt 2: your server answered 500 after 34 ms, next try in 30 s`. */
export function attemptSentence(attempt: Attempt): string {
  const { number, outcome, status, durationMs, error, startTime, nextAttemptTime } = attempt
  const after = `after ${durationMs} ms`
  const words: Partial<Record<AttemptOutcome, string>> = {
    [AttemptOutcome.STARTED]: 'is in flight',
    [AttemptOutcome.DELIVERED]: `your server answered ${status} ${after}`,
    [AttemptOutcome.REFUSED]: `your server answered ${status} ${after}`,
    [AttemptOutcome.TIMED_OUT]: `your server gave no complete answer in ${durationMs} ms`,
    [AttemptOutcome.CONNECTION_FAILED]: `no connection ${after}: ${error}`,
    [AttemptOutcome.BLOCKED]: 'not sent: the address of your server is not public',
    [AttemptOutcome.UNSIGNED]: 'not sent: it could not be signed',
  }
  const said = `attempt ${number}: ${words[outcome] ?? 'it is not known whether your server got it'}`
  if (nextAttemptTime === undefined || startTime === undefined) return said
  const waitMs = timestampMs(nextAttemptTime) - timestampMs(startTime) - durationMs
  return `${said}, next try in ${Math.max(0, Math.round(waitMs / 1_000))} s`
}
