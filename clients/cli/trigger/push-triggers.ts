// Triggers of pushes: cancels a payment for each kind of receiver and shows what was delivered.
import type { Json } from '../api/api-call.ts'
import { accepted } from '../api/client.ts'
import { order } from '../api/order.ts'
import type { ReceiverKind } from '../api/receiver.ts'
import type { Trigger } from './trigger.ts'

/** A scenario with a receiver that gets this many attempts before a longer pause or the end. */
const toReceiver = (kind: ReceiverKind, summary: string, attempts: number): Trigger => ({
  name: `push.${kind}`,
  summary,
  async run({ shop, receiver, withinMs }): Promise<Json> {
    const inbox = receiver(kind)
    const { callback } = inbox.urls
    const { id } = await shop.create(order({ urls: { callback } }))
    accepted(await shop.cancel(id))
    const pushes = await inbox.calledBack(attempts, withinMs)
    return {
      payment_details_id: id,
      receiver: callback,
      attempts: pushes.map(({ received_time }) => received_time),
      body: JSON.parse(pushes[0]?.body ?? '{}') as Json,
    }
  },
})

export const pushTriggers: Trigger[] = [
  toReceiver('ok', 'A receiver that answers 200.', 1),
  toReceiver('flaky', 'A receiver that answers 500 twice and then 200.', 3),
  toReceiver('fail', 'A receiver that always answers 500: retried, then exhausted.', 4),
  toReceiver('slow', 'A receiver that answers after 5 s.', 1),
  toReceiver('redirect', 'A receiver that redirects: a failure, which is never followed.', 2),
  toReceiver('gone', 'A receiver that answers 410: the deliveries to it end.', 1),
]
