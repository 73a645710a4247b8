// Fees to the smallest unit, and who bears them.
import { describe, expect, it } from 'vitest'
import { detailsOf, type Json, merchant, order, payer, sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)

type Fees = Record<string, string>

/** Fees as GET status returns them, payers' parts as the cancel response does. */
async function feesOf(more: Json): Promise<{ fees: Fees; payees: Json[]; payerFees: string[] }> {
  const created = await shop.create(order(more))
  const { fees, payees } = detailsOf(await shop.status(created.id)) as {
    fees: Fees
    payees: Json[]
  }
  const cancelled = detailsOf(await shop.cancel(created.id))
  expect(cancelled['fees']).toEqual(fees)
  const payerFees = (cancelled['payers'] as Json[]).map((one) => String(one['fee']))
  return { fees, payees, payerFees }
}

const link = (payment_method: string, more: Json = {}) => payer(20, { payment_method, ...more })
const agent = (payment_method: string) => payer(20, { payment_channel: 'agent', payment_method })

/** card, platform, agent, total */
type Parts = [string, string, string, string]

describe('fees, to the smallest unit', () => {
  const cases: [string, string, Json, Parts][] = [
    ['TTD', '100.00', link('wallet'), ['0.00', '0.50', '0.00', '0.50']],
    ['TTD', '100.00', link('card'), ['2.90', '0.50', '0.00', '3.40']],
    ['TTD', '100.00', link('credit'), ['2.90', '0.50', '0.00', '3.40']],
    ['TTD', '100.00', link('debit'), ['2.90', '0.50', '0.00', '3.40']],
    ['TTD', '100.00', agent('cash'), ['0.00', '0.50', '1.00', '1.50']],
    ['TTD', '100.00', agent('card'), ['2.90', '0.50', '1.00', '4.40']],
    // Halves go to the even neighbour: 0.005, 0.015, 0.025; 0.145, 0.435.
    ['TTD', '1.00', link('wallet'), ['0.00', '0.00', '0.00', '0.00']],
    ['TTD', '3.00', link('wallet'), ['0.00', '0.02', '0.00', '0.02']],
    ['TTD', '5.00', link('card'), ['0.14', '0.02', '0.00', '0.16']],
    ['TTD', '15.00', link('card'), ['0.44', '0.08', '0.00', '0.52']],
    ['TTD', '0.01', agent('card'), ['0.00', '0.00', '0.00', '0.00']],
    ['TTD', '0.50', agent('cash'), ['0.00', '0.00', '0.00', '0.00']],
    ['TTD', '1.50', agent('cash'), ['0.00', '0.01', '0.02', '0.03']],
    ['JPY', '100', link('card'), ['3', '0', '0', '3']],
    ['JPY', '300', link('card'), ['9', '2', '0', '11']],
    ['JPY', '500', link('card'), ['14', '2', '0', '16']],
    ['JPY', '50', agent('cash'), ['0', '0', '0', '0']],
    ['JPY', '150', agent('cash'), ['0', '1', '2', '3']],
    ['BHD', '1.000', link('card'), ['0.029', '0.005', '0.000', '0.034']],
    ['BHD', '0.100', link('card'), ['0.003', '0.000', '0.000', '0.003']],
    ['BHD', '0.300', link('card'), ['0.009', '0.002', '0.000', '0.011']],
    [
      'TTD',
      '999999999999999.99',
      agent('card'),
      ['29000000000000.00', '5000000000000.00', '10000000000000.00', '44000000000000.00'],
    ],
  ]
  it.each(cases)(
    'the fees of %s %s are exact to the smallest unit',
    async (currency, amount, from, [card, platform, atAgent, total]) => {
      const none = { TTD: '0.00', JPY: '0', BHD: '0.000' }[currency]
      const absorbed = await feesOf({ currency, amount, payers: [from] })
      const parts = {
        total,
        card_processing: card,
        platform_processing: platform,
        agent_processing: atAgent,
        convenience: none,
      }
      expect(absorbed.fees).toEqual({
        ...parts,
        payer_pays: none,
        payee_pays: none,
        merchant_pays: total,
      })
      expect(absorbed.payerFees).toEqual([none])
      expect(absorbed.payees).toEqual([expect.objectContaining({ fee: none, fees_covered: 1 })])
      const charged = await feesOf({ currency, amount, payers: [from], fees: { pays_fees: 1 } })
      expect(charged.fees).toEqual({
        ...parts,
        payer_pays: total,
        payee_pays: none,
        merchant_pays: none,
      })
      expect(charged.payerFees).toEqual([total])
      expect(charged.payees).toEqual([expect.objectContaining({ fee: none, fees_covered: 1 })])
    },
  )
})

describe('who bears the fees', () => {
  const shares: [Json, string, string, string][] = [
    [{}, '0.00', '0.00', '3.40'],
    [{ pays_fees: 0 }, '0.00', '0.00', '3.40'],
    [{ pays_fees: 0, payer_covers: 100 }, '0.00', '0.00', '3.40'],
    [{ pays_fees: 1 }, '3.40', '0.00', '0.00'],
    [{ pays_fees: 1, payer_covers: 100 }, '3.40', '0.00', '0.00'],
    [{ pays_fees: 1, payer_covers: 50 }, '1.70', '1.70', '0.00'],
    [{ pays_fees: 1, payer_covers: 33 }, '1.12', '2.28', '0.00'],
    [{ pays_fees: 1, payer_covers: 1 }, '0.03', '3.37', '0.00'],
    [{ pays_fees: 1, payer_covers: 0 }, '0.00', '3.40', '0.00'],
  ]
  it.each(shares)(
    'the fees with %j are borne so: the payer %s, the payee %s, the merchant %s',
    async (terms, ...row) => {
      const [payer_pays, payee_pays, merchant_pays] = row
      const seen = await feesOf({ payers: [link('card')], fees: terms })
      expect(seen.fees).toMatchObject({ total: '3.40', payer_pays, payee_pays, merchant_pays })
      expect(seen.payerFees).toEqual([payer_pays])
      const fees_covered = payee_pays === '0.00' ? 1 : 0
      expect(seen.payees).toEqual([expect.objectContaining({ fee: payee_pays, fees_covered })])
    },
  )

  it('the fees are split over several payers and payees so that the parts make the whole', async () => {
    const amounts = ['33.33', '33.33', '33.34']
    const payees = amounts.map((amount, index) => ({
      mobile_number: `+1202555013${index}`,
      amount,
      delay_days: index,
    }))
    for (const payer_covers of [0, 1, 33, 50, 67, 99, 100]) {
      const methods = ['card', 'wallet', 'debit']
      const payers = amounts.map((amount, index) => link(methods[index] ?? '', { amount }))
      const seen = await feesOf({ payers, payees, fees: { pays_fees: 1, payer_covers } })
      expect(seen.fees['total']).toBe('2.45')
      const sum = (values: string[]) =>
        values.reduce((all, value) => all + BigInt(value.replace('.', '')), 0n)
      const cents = (name: string) => BigInt((seen.fees[name] ?? '').replace('.', ''))
      expect(sum(seen.payerFees)).toBe(cents('payer_pays'))
      expect(sum(seen.payees.map(({ fee }) => String(fee)))).toBe(cents('payee_pays'))
      expect(cents('payer_pays') + cents('payee_pays')).toBe(245n)
      const exact = (245 * payer_covers) / 100
      expect(Math.abs(Number(cents('payer_pays')) - exact)).toBeLessThan(1)
      expect(
        seen.payees.map(({ mobile_number, amount, delay_days }) => ({
          mobile_number,
          amount,
          delay_days,
        })),
      ).toEqual(payees)
      for (const { fee, fees_covered } of seen.payees) {
        expect(fees_covered).toBe(fee === '0.00' ? 1 : 0)
      }
    }
  })

  it('the fees fall on payees by their amounts', async () => {
    const payees = [
      { mobile_number: '+12025550130', amount: '75.00' },
      { mobile_number: '+12025550131', amount: '25.00' },
    ]
    const { fees, payees: seen } = await feesOf({
      payers: [link('card')],
      payees,
      fees: { pays_fees: 1, payer_covers: 0 },
    })
    expect(fees['payee_pays']).toBe('3.40')
    expect(seen.map(({ fee }) => fee)).toEqual(['2.55', '0.85'])
  })
})
