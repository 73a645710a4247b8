// Triggers of payments for every outcome: payers that the sandbox simulates, and payers whose page we fill in.
import type { ApiResponse, Json } from '../api/api-call.ts'
import { accepted, detailsOf } from '../api/client.ts'
import { eventually } from '../api/eventually.ts'
import { newNumber, order, payer } from '../api/order.ts'
import { collectCash, fillIn, open, payByCard } from '../api/page.ts'
import { OtherOutcome, shown, type Trigger, type TriggerContext } from './trigger.ts'

/** The facts to show of a payment. */
function outcomeOf(answer: ApiResponse): Json {
  const { id, status, payments_status } = detailsOf(answer)
  return { payment_details_id: id, status, payments_status, payers: answer.body['payers'] }
}

/** A payment request whose payers bring it into that state by themselves. */
const made = (name: string, summary: string, more: Json, state: string): Trigger => ({
  name,
  summary,
  async run({ shop, withinMs }) {
    const { id } = await shop.create(order(more))
    return outcomeOf(await shop.becomes(id, state, withinMs))
  },
})

/** A payment whose payer acts on the page. */
const byHand = (
  name: string,
  summary: string,
  more: Json,
  state: string,
  act: (url: string, context: TriggerContext) => Promise<unknown>,
): Trigger => ({
  name,
  summary,
  async run(context) {
    const { id, urls } = await context.shop.create(order({ payers: [payer(20, more)] }))
    await act(urls[0] ?? '', context)
    return { ...outcomeOf(await context.shop.becomes(id, state, context.withinMs)), page: urls[0] }
  },
})

/** The page says that the payer was refused; until the fifth time they may try again. */
async function refusedOn(url: string, { withinMs }: TriggerContext): Promise<void> {
  await eventually(
    'a refusal on the page',
    async () => (/refused|declined/i.test((await open(url)).html) ? true : undefined),
    { withinMs },
  )
}

const twoPayers = (second: number) => [
  payer(1, { amount: '60.00' }),
  payer(second, { amount: '40.00' }),
]

export const paymentTriggers: Trigger[] = [
  made('payment.paid', 'Person 01 pays after a second.', { payers: [payer(1)] }, 'paid'),
  made('payment.paid-later', 'Person 05 pays after 5 s.', { payers: [payer(5)] }, 'paid'),
  made(
    'payment.refused',
    'Person 02 is declined once a second; the fifth refusal fails the payment.',
    { payers: [payer(2)] },
    'Failed',
  ),
  made('payment.pending', 'Person 08 never acts.', { payers: [payer(8)] }, 'Pending'),
  made(
    'payment.partially-paid',
    'Person 01 pays their share, person 08 does not.',
    { payers: twoPayers(8) },
    'Partially_paid',
  ),
  made(
    'payment.share-refunded',
    'Person 01 pays, person 02 is declined five times: the request fails and the share is refunded.',
    { payers: twoPayers(2) },
    'Refunded',
  ),
  made(
    'payment.fraud-blocked',
    'Person 06 is on the block list: stored as Failed, without a link.',
    { fraud_check: 1, payers: [payer(6)] },
    'Failed',
  ),
  made(
    'payment.fraud-ceiling',
    '10,000.01 USD is above the maximum of the fraud check.',
    { fraud_check: 1, amount: '10000.01', payers: [payer(20, { mobile_number: newNumber() })] },
    'Failed',
  ),
  {
    name: 'payment.cancelled',
    summary: 'A pending request is cancelled.',
    async run({ shop }) {
      const { id } = await shop.create(order())
      const answer = accepted(await shop.cancel(id))
      return outcomeOf({ ...answer, body: { ...answer.body, ...detailsOf(answer) } })
    },
  },
  {
    name: 'payment.late-money',
    summary: 'Person 12 pays 2 s after the cancel: the money is refunded.',
    async run({ shop, withinMs }) {
      const { id } = await shop.create(order({ payers: [payer(12)] }))
      accepted(await shop.cancel(id))
      return outcomeOf(await shop.becomes(id, 'Refunded', withinMs))
    },
  },
  {
    name: 'payment.expired',
    summary:
      'The time to pay runs out. Start with PAYMENT_TTL_DIRECT_POS_S=3, or move the test clock, to see it soon.',
    async run({ shop, withinMs }) {
      const payers = [payer(8, { payment_channel: 'direct_pos' })]
      const { id } = await shop.create(order({ payers }))
      const { timestamps } = detailsOf(await shop.status(id)) as { timestamps: Json }
      const expireTime = String(timestamps['expire_time'])
      // By the times of the payment: the test clock may be ahead of this machine's.
      const leftMs = Date.parse(expireTime) - Date.parse(String(timestamps['created_time']))
      if (leftMs > withinMs) {
        throw new OtherOutcome(
          `it expires at ${expireTime} UTC: pass --within ${Math.ceil(leftMs / 1_000) + 10}, or start with PAYMENT_TTL_DIRECT_POS_S=3; "payweave sandbox clock advance ${Math.ceil(leftMs / 1_000)}s" lets it expire now`,
        )
      }
      return outcomeOf(await shop.becomes(id, 'Expired', withinMs))
    },
  },
  {
    name: 'payment.repeated',
    summary: 'The same request twice: one payment, one link.',
    async run({ shop }) {
      const transaction = order()
      const [first, again] = [await shop.create(transaction), await shop.create(transaction)]
      if (first.id !== again.id) throw new OtherOutcome('the repeat created another payment')
      return shown(again.answer)
    },
  },
  byHand('wallet.paid', 'A payer enters PIN 123456 on the page.', {}, 'paid', (url) =>
    fillIn(url, { pin: '123456' }),
  ),
  byHand(
    'wallet.declined',
    'A payer enters PIN 000002: declined; the payer may try again.',
    {},
    'Pending',
    async (url, context) => {
      await fillIn(url, { pin: '000002' })
      await refusedOn(url, context)
    },
  ),
  byHand('card.approved', 'Card 4242 4242 4242 4242.', { payment_method: 'card' }, 'paid', (url) =>
    payByCard(url, '4242424242424242'),
  ),
  byHand(
    'card.declined',
    'Card 4000 0000 0000 0002.',
    { payment_method: 'card' },
    'Pending',
    async (url, context) => {
      await payByCard(url, '4000000000000002')
      await refusedOn(url, context)
    },
  ),
  byHand(
    'card.insufficient-funds',
    'Card 4000 0000 0000 9995.',
    { payment_method: 'card' },
    'Pending',
    async (url, context) => {
      await payByCard(url, '4000000000009995')
      await refusedOn(url, context)
    },
  ),
  byHand(
    'agent.collected',
    'An agent collects cash for the code of the page.',
    { payment_channel: 'agent', payment_method: 'cash' },
    'paid',
    (url, { target }) => collectCash(target.simulatorUrl ?? '', url),
  ),
  byHand(
    'pos.paid',
    'A payer scans the QR code and enters PIN 123456.',
    { payment_channel: 'direct_pos', payment_method: 'qr_code' },
    'paid',
    (url) => fillIn(url, { pin: '123456' }),
  ),
]
