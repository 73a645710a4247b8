// Tests fees to the minor unit: every component, every share, and that they sum exactly.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { channelMethods, type PaymentChannel } from '#core/payment/words.ts'
import type { FeeSchedule } from '#platform/config/config.ts'
import { computeFees, type FeeBase } from './fees.ts'

const schedule: FeeSchedule = {
  cardProcessingPercent: '2.90',
  platformProcessingPercent: '0.50',
  agentProcessingPercent: '1.00',
  conveniencePercent: '0',
}
const merchantPays = { paysFees: false, payerCoversPercent: 100 }

function base(amounts: bigint[], payees: bigint[] = []): FeeBase {
  return {
    payers: amounts.map((amountMinor) => ({
      amountMinor,
      paymentChannel: 'payment_link',
      paymentMethod: 'card',
    })),
    payees: payees.map((amountMinor) => ({ amountMinor })),
  }
}

describe('fees', () => {
  it('fees are borne by the merchant unless the request says otherwise', () => {
    const { fees, perPayerMinor, perPayeeMinor } = computeFees(
      schedule,
      merchantPays,
      base([10_000n], [10_000n]),
    )
    expect(fees).toEqual({
      totalMinor: 340n,
      cardProcessingMinor: 290n,
      platformProcessingMinor: 50n,
      agentProcessingMinor: 0n,
      convenienceMinor: 0n,
      payerPaysMinor: 0n,
      payeePaysMinor: 0n,
      merchantPaysMinor: 340n,
    })
    expect([perPayerMinor, perPayeeMinor]).toEqual([[0n], [0n]])
  })

  it('fees round each component half to even, per payer', () => {
    // 2.90 % and 0.50 % of 0.50 are 1.45 and 0.25; of 1.00: 2.9 and 0.5; of 3.00: 8.7 and 1.5.
    const { fees } = computeFees(schedule, merchantPays, base([50n, 100n, 300n]))
    expect(fees.cardProcessingMinor).toBe(1n + 3n + 9n)
    expect(fees.platformProcessingMinor).toBe(0n + 0n + 2n)
  })

  it('fees charge cards for card methods and agents for their channel only', () => {
    const payers: FeeBase['payers'] = [
      { amountMinor: 10_000n, paymentChannel: 'agent', paymentMethod: 'cash' },
      { amountMinor: 10_000n, paymentChannel: 'agent', paymentMethod: 'card' },
      { amountMinor: 10_000n, paymentChannel: 'direct_pos', paymentMethod: 'qr_code' },
      { amountMinor: 10_000n, paymentChannel: 'direct_pos', paymentMethod: 'credit' },
      { amountMinor: 10_000n, paymentChannel: 'payment_link', paymentMethod: 'wallet' },
      { amountMinor: 10_000n, paymentChannel: 'payment_link', paymentMethod: 'debit' },
    ]
    const terms = { paysFees: true, payerCoversPercent: 100 }
    const { perPayerMinor, fees } = computeFees(schedule, terms, { payers, payees: [] })
    expect(perPayerMinor).toEqual([150n, 440n, 50n, 340n, 50n, 340n])
    expect([fees.payerPaysMinor, fees.payeePaysMinor]).toEqual([1_370n, 0n])
  })

  it('fees fall on payers by a percentage and on payees by amount for the rest', () => {
    const terms = { paysFees: true, payerCoversPercent: 25 }
    const split = computeFees(schedule, terms, base([10_000n], [7_500n, 2_500n]))
    expect(split.perPayerMinor).toEqual([85n])
    expect(split.perPayeeMinor).toEqual([191n, 64n])
    expect(split.fees.merchantPaysMinor).toBe(0n)
  })

  it('fees always sum to the total, for components, shares and people', () => {
    const channel = fc.constantFrom<PaymentChannel>('agent', 'direct_pos', 'payment_link')
    const payer = channel.chain((paymentChannel) =>
      fc.record({
        amountMinor: fc.bigInt(1n, 10n ** 15n),
        paymentChannel: fc.constant(paymentChannel),
        paymentMethod: fc.constantFrom(...channelMethods[paymentChannel]),
      }),
    )
    const payee = fc.record({ amountMinor: fc.bigInt(1n, 10n ** 15n) })
    const cases = fc.record({
      payers: fc.array(payer, { minLength: 1, maxLength: 20 }),
      payees: fc.array(payee, { minLength: 1, maxLength: 20 }),
      paysFees: fc.boolean(),
      payerCoversPercent: fc.integer({ min: 0, max: 100 }),
    })
    fc.assert(
      fc.property(cases, ({ payers, payees, ...terms }) => {
        const { fees, perPayerMinor, perPayeeMinor } = computeFees(schedule, terms, {
          payers,
          payees,
        })
        const parts =
          fees.cardProcessingMinor +
          fees.platformProcessingMinor +
          fees.agentProcessingMinor +
          fees.convenienceMinor
        const shares = fees.payerPaysMinor + fees.payeePaysMinor + fees.merchantPaysMinor
        expect([parts, shares]).toEqual([fees.totalMinor, fees.totalMinor])
        expect(sum(perPayerMinor)).toBe(fees.payerPaysMinor)
        expect(sum(perPayeeMinor)).toBe(fees.payeePaysMinor)
        for (const part of [...perPayerMinor, ...perPayeeMinor]) expect(part >= 0n).toBe(true)
      }),
    )
  })
})

function sum(parts: bigint[]): bigint {
  return parts.reduce((sofar, part) => sofar + part, 0n)
}
