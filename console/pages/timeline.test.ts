// Tests the times and the words of the timeline of a payment.
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { expect, it } from 'vitest'
import { AttemptOutcome } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { MerchantDeliverySchema } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import {
  PaymentEventType,
  PaymentHistoryEventSchema,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { timelineOf } from './timeline.ts'

const at = (second: number) => timestampFromDate(new Date(Date.UTC(2026, 0, 2, 3, 4, second)))

const eventOf = (type: PaymentEventType, second: number, releaseS?: number) =>
  create(PaymentHistoryEventSchema, {
    type,
    time: at(second),
    amountMinor: 2_500n,
    party: { case: 'payeeMobileNumber', value: '+12025550101' },
    ...(releaseS === undefined ? {} : { releaseTime: at(releaseS) }),
  })

it('an attempt stands where its server answered, and one in flight where it began', () => {
  const { DELIVERED, STARTED } = AttemptOutcome
  const delivery = create(MerchantDeliverySchema, {
    deliveryId: 'd',
    eventType: 'payment_paid',
    attempts: [
      { number: 1, outcome: DELIVERED, startTime: at(1), durationMs: 3_000, status: 200 },
      { number: 2, outcome: STARTED, startTime: at(2), durationMs: 0 },
    ],
  })
  const paid = eventOf(PaymentEventType.PAYMENT_PAID, 3)
  const lines = timelineOf({ events: [paid], currency: 'USD' }, [delivery], '/pushes')
  expect(lines.map((line) => line.at)).toEqual([at(2), at(3), at(4)])
  expect(lines[2]?.sentence).toContain('attempt 1: your server answered 200 after 3000 ms')
})

it('a cancelled request names nobody, for payers and staff cancel too', () => {
  const events = [eventOf(PaymentEventType.PAYMENT_CANCELLED, 1)]
  const [line] = timelineOf({ events, currency: 'USD' }, [], '/pushes')
  expect(line?.sentence).toBe('the request was cancelled')
})

it('the release of a payout is a time, which the page shows as it shows every other', () => {
  const events = [eventOf(PaymentEventType.PAYOUT_SCHEDULED, 1, 9)]
  const [line] = timelineOf({ events, currency: 'USD' }, [], '/pushes')
  expect(line?.sentence).toBe('25.00 USD for +12025550101 is held until')
  expect(line?.until).toEqual(at(9))
})
