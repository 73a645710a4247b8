// Checks of notifies and callbacks, as the simulator's receivers record them.
import type { Json } from '../../clients/cli/api/api-call.ts'
import { order, payer, person } from '../../clients/cli/api/order.ts'
import { bodyOf, type Push } from '../../clients/cli/api/receiver.ts'
import { type Check, type CheckContext, demand, demandShape, groupOf } from './check.ts'
import { aText, isoTime } from './shape.ts'

const check = groupOf('pushes', 'api key', 'sandbox', 'simulator')

/** A payment of person 01 that was paid, with its receiver. */
async function paid({ shop, receiver }: CheckContext, more: Json = {}) {
  const inbox = receiver()
  const transaction = order({ payers: [payer(1)], urls: inbox.urls, ...more })
  const { id } = await shop.create(transaction)
  await shop.becomes(id, 'paid')
  return { id, transaction, inbox }
}

/** One cancelled payment whose callbacks go to a receiver of that kind. */
async function cancelledFor(context: CheckContext, kind: 'flaky' | 'fail' | 'gone' | 'redirect') {
  const inbox = context.receiver(kind)
  const { callback } = inbox.urls
  const { id } = await context.shop.create(order({ urls: { callback } }))
  await context.shop.cancel(id)
  return inbox
}

const bodies = (pushes: Push[]) => new Set(pushes.map(({ body }) => body))

export const pushChecks: Check[] = [
  check(
    'notify-initiated',
    'An issued link sends payment_initiated, INITIATED, with name, number, amount and currency of the payer.',
    async (context) => {
      const inbox = context.receiver()
      const payers = [payer(20, { first_name: 'Ama', last_name: 'Mensah' })]
      const transaction = order({ payers, urls: inbox.urls })
      await context.shop.create(transaction)
      demandShape(await inbox.awaitNotify('payment_initiated'), {
        event_type: 'payment_initiated',
        status: 'INITIATED',
        transaction_id: transaction.id,
        timestamp: isoTime,
        description: aText,
        payer: { name: 'Ama Mensah', mobile_number: person(20), amount: 100, currency: 'USD' },
      })
    },
  ),
  check(
    'notify-completed',
    'A payment sends payment_completed, PAID, with number, method, amount and currency of the payer.',
    async (context) => {
      const { inbox, transaction } = await paid(context)
      demandShape(await inbox.awaitNotify('payment_completed'), {
        status: 'PAID',
        transaction_id: transaction.id,
        timestamp: isoTime,
        payer: { mobile_number: person(1), amount: 100, payment_method: 'wallet', currency: 'USD' },
      })
    },
  ),
  check(
    'notify-payout',
    'Payees: payout_scheduled, SCHEDULED, then payout_completed, PAID, are sent.',
    async (context) => {
      const payees = [{ mobile_number: '+12025550130', amount: '100.00' }]
      const { inbox } = await paid(context, { payees })
      const payee = { mobile_number: '+12025550130' }
      demandShape(await inbox.awaitNotify('payout_scheduled'), { status: 'SCHEDULED', payee })
      demandShape(await inbox.awaitNotify('payout_completed'), { status: 'PAID', payee })
    },
  ),
  check('notify-cancelled', 'A cancel sends payment_cancelled, CANCELLED.', async (context) => {
    const inbox = context.receiver()
    const { id } = await context.shop.create(order({ urls: inbox.urls }))
    await context.shop.cancel(id)
    demandShape(await inbox.awaitNotify('payment_cancelled'), { status: 'CANCELLED' })
  }),
  check(
    'notify-amount',
    'The amount of a notify is a JSON number with the exact decimals.',
    async (context) => {
      const { inbox } = await paid(context, { amount: '12.30', payers: [payer(1)] })
      await inbox.awaitNotify('payment_completed')
      const [push] = await inbox.notifies()
      demand(/"amount":\s*12\.30?\b/.test(push?.body ?? ''), 'the amount is no exact number')
    },
  ),
  check(
    'callback-paid',
    'A paid request sends one callback: status, sequence 1, and the snapshot of GET /payments/status.',
    async (context) => {
      const { id, inbox } = await paid(context)
      const [push] = await inbox.calledBack()
      const { body: status } = await context.shop.status(id)
      const details = status['payment_details'] as Json
      demandShape(push && bodyOf(push), {
        status: 'paid',
        sequence: 1,
        timestamp: isoTime,
        transaction_request: status['transaction_request'],
        payment_details: details,
        payers: status['payers'],
        payments_status: details['payments_status'],
        fees: details['fees'],
        timestamps: details['timestamps'],
        payees: details['payees'],
      })
      demand(bodies(await inbox.callbacks()).size === 1, 'there are several callbacks')
    },
  ),
  check('no-signature', 'Notifies and callbacks carry no signature header.', async (context) => {
    const { inbox } = await paid(context)
    await inbox.awaitNotify('payment_completed')
    for (const { headers } of [...(await inbox.notifies()), ...(await inbox.calledBack())]) {
      const names = Object.keys(headers).filter((name) => /signature|authori[sz]ation/i.test(name))
      demand(names.length === 0, `a push carries ${names.join(', ')}`)
      demandShape(headers['content-type'], /^application\/json/, 'content-type')
    }
  }),
  check(
    'retry',
    'A rejected push is repeated with the same bytes until it is accepted.',
    async (context) => {
      const inbox = await cancelledFor(context, 'flaky')
      const pushes = await inbox.calledBack(3)
      demand(bodies(pushes).size === 1, 'the bytes of a push changed between attempts')
    },
  ),
  check('gone', '410 ends the deliveries of that request to that URL.', async (context) => {
    const refused = await cancelledFor(context, 'fail')
    const gone = await cancelledFor(context, 'gone')
    await gone.calledBack()
    await refused.calledBack(2)
    demand((await gone.callbacks()).length === 1, 'a receiver that is gone was asked again')
  }),
  check('redirect', 'A redirect is a failed delivery and is not followed.', async (context) => {
    const inbox = await cancelledFor(context, 'redirect')
    const pushes = await inbox.calledBack(2)
    const paths = pushes.map(({ path }) => path).filter((path) => !path.includes('/redirect/'))
    demand(paths.length === 0, 'a redirect was followed')
  }),
]
