// `listen` for any deployment: reads the pushes of a merchant from the public API with the merchant's keys.
import type { Delivery } from '../../sdk-typescript/index.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'
import { followAsMerchant } from '../deliveries/follow.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { forward, handlerUrl, type ReceivedPush, showPush } from './push.ts'

/**
 * Prints each new push and forwards a copy to the handler, once. The receiver of the push gets it as well, and its retries are not
 * forwarded. Rejects as `followAsMerchant` does.
 */
export async function followPushes(context: CommandContext): Promise<void> {
  const { options, warn, stopping } = context
  for (const name of ['port', 'status']) {
    if (options[name] !== undefined) {
      throw new UsageError(
        `--${name} cannot be combined with --base-url or --subscription-key, with which no port is opened`,
      )
    }
  }
  const handler = handlerUrl(options['forward-to'])
  const maxCount =
    options['count'] === undefined ? undefined : wholeNumber(options['count'], 'count', 1e9)
  const { deliveries } = merchantOf(context)
  let count = 0
  await followAsMerchant(context, {
    startMessage:
      handler === undefined
        ? 'following the pushes of the merchant'
        : `following the pushes of the merchant; each is forwarded once to ${handler.href}`,
    isDone: () => count === maxCount,
    async handle({ delivery_id: id, attempts }, last) {
      if (last !== undefined) return attempts
      const push = pushOf(await deliveries.get(id, signalOf(context)))
      count += 1
      showPush(context, push)
      if (handler !== undefined) {
        const { says } = await forward(handler, push, stopping)
        warn(`${handler.href}: ${says}`)
      }
      return attempts
    },
  })
}

/** The push with the headers that its receiver gets. */
function pushOf(push: Delivery): ReceivedPush {
  const { pathname, search } = new URL(push.url)
  return {
    method: 'POST',
    path: `${pathname}${search}`,
    headers: [
      ['content-type', 'application/json'],
      ['pw-delivery-id', push.delivery_id],
      ['pw-delivery-attempt', String(Math.max(1, push.attempts.length))],
      ['pw-event-id', push.event_id],
      ['pw-payment-details-id', push.payment_details_id],
    ],
    body: push.body,
  }
}
