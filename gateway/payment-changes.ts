// Hears from the broker which payments change, for the pages that show them.
import { fromBinary } from '@bufbuild/protobuf'
import { PaymentEventSchema } from '#gen/payweave/payments/v1/payment_event_pb.js'
import { subscribeInvalidation } from '#platform/events/invalidation.ts'
import type { Nats } from '#platform/events/nats/nats.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { PaymentChanges } from './pages/live-streams.ts'

/** Every event of payments, those that nobody has to confirm included. */
const subject = 'pw.payments.>'

/** Plain subscriptions to the events of payments: a message may be lost, and a page then learns of it a little later. */
export function paymentChanges(nats: Nats, log: Logger): PaymentChanges {
  return {
    isLive: () => nats.ready(),
    subscribe(onChange, onGap) {
      const subscription = subscribeInvalidation({
        nats,
        subject,
        log,
        onEvent({ payload }) {
          const { payment } = fromBinary(PaymentEventSchema, payload)
          if (payment !== undefined) onChange(payment.paymentId)
        },
        onGap,
      })
      return () => subscription.close()
    },
  }
}
