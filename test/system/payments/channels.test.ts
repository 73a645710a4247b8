// Which channels take which methods.
import { describe, expect, it } from 'vitest'
import { merchant, order, payer, sharedMesh } from '../harness.ts'
import { expectRefused, markedOrders } from '../refusals/refusal.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const { marked, expectNoTrace } = markedOrders(mesh)

const methods = ['cash', 'card', 'wallet', 'credit', 'debit', 'qr_code']
const allowed: Record<string, string[]> = {
  agent: ['cash', 'card'],
  direct_pos: ['wallet', 'card', 'credit', 'debit', 'qr_code'],
  payment_link: ['wallet', 'card', 'credit', 'debit'],
}
const pairs = Object.keys(allowed).flatMap((channel) =>
  methods.map((method) => [channel, method] as const),
)
const good = pairs.filter(([channel, method]) => allowed[channel]?.includes(method))
const bad = pairs.filter(([channel, method]) => !allowed[channel]?.includes(method))

describe('payers may pay', () => {
  it.each(good)('payers may pay by %s with %s', async (payment_channel, payment_method) => {
    const created = await shop.create(
      order({ payers: [payer(20, { payment_channel, payment_method })] }),
    )
    const { body } = await shop.status(created.id)
    expect(body['payers']).toEqual([
      expect.objectContaining({ payment_channel, payment_method, status: 'Pending' }),
    ])
  })
})

describe('payers may not pay, and nothing of the request is stored or sent,', () => {
  it.each(bad)(
    'payers may not pay by %s with %s, and nothing of the request is stored or sent',
    async (payment_channel, payment_method) => {
      const payers = [payer(1, { payment_channel, payment_method })]
      const answer = await shop.request(marked((transaction) => ({ ...transaction, payers })))
      expectRefused(answer, { status: 400, errorCode: 'UNSUPPORTED_CHANNEL_METHOD' })
    },
  )

  it('the second of two payers may not pay by a pair that is not allowed, and nothing of the request is stored or sent', async () => {
    const payers = [
      payer(1, { amount: '50.00' }),
      payer(1, { amount: '50.00', payment_channel: 'agent', payment_method: 'wallet' }),
    ]
    const answer = await shop.request(marked((transaction) => ({ ...transaction, payers })))
    expectRefused(answer, { status: 400, errorCode: 'UNSUPPORTED_CHANNEL_METHOD' })
  })

  it('payers may not pay by a channel or with a method that does not exist, and nothing of the request is stored or sent', async () => {
    const unknown = [
      { payment_channel: 'post' },
      { payment_channel: 'AGENT', payment_method: 'cash' },
      { payment_method: 'barter' },
      { payment_method: '' },
    ]
    for (const more of unknown) {
      const payers = [payer(1, more)]
      const answer = await shop.request(marked((transaction) => ({ ...transaction, payers })))
      expect(answer.status, answer.text).toBe(400)
    }
  })

  it('a request with payers who may not pay leaves no rows and no pushes', async () => {
    await expectNoTrace(bad.length + 5)
  })
})
