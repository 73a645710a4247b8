// The rules that the fees of an institution transaction follow, in any unit.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { brokenFeeRule, type StatedFees } from './transaction-fees.ts'

const none: StatedFees = { senderPays: 0n, recipientPays: 0n, convenience: 0n, total: undefined }
const terms = {
  debit: 1_000n,
  credit: 500n,
  debitField: 'sender_amount',
  oneCurrency: true,
} as const

describe('fees', () => {
  it.each([
    ['none', {}],
    ['a total of none', { total: 0n }],
    ['as much as the amounts that they go with', { senderPays: 1_000n, recipientPays: 500n }],
    ['a total of all three', { senderPays: 3n, recipientPays: 2n, convenience: 1n, total: 6n }],
    ['a convenience fee above the amounts, which moves nothing', { convenience: 9_000n }],
  ])('fees may be %s', (_, more) => {
    expect(brokenFeeRule({ ...none, ...more }, terms)).toBeUndefined()
  })

  it.each([
    ['sender_pays', 'must not be above sender_amount', { senderPays: 1_001n }],
    ['recipient_pays', 'must not be above amount', { recipientPays: 501n }],
    ['total', 'must be the sum of', { senderPays: 3n, recipientPays: 2n, total: 6n }],
    ['total', 'must be the sum of', { convenience: 1n, total: 0n }],
    ['sender_pays', 'must not be above', { senderPays: 1_001n, recipientPays: 501n, total: 1n }],
  ])('fees have a %s that %s', (fee, rule, more) => {
    const broken = brokenFeeRule({ ...none, ...more }, terms)
    expect(broken).toEqual({ fee, rule: expect.stringContaining(rule) })
  })

  it('fees of two currencies have no total, unless the recipient pays nothing', () => {
    const two = { ...terms, oneCurrency: false }
    const apart = { ...none, senderPays: 3n, recipientPays: 2n }
    expect(brokenFeeRule(apart, two)).toBeUndefined()
    expect(brokenFeeRule({ ...apart, total: 5n }, two)).toEqual({
      fee: 'total',
      rule: expect.stringContaining('left out'),
    })
    expect(brokenFeeRule({ ...none, senderPays: 3n, total: 3n }, two)).toBeUndefined()
  })

  it('fees that pass never take more than the amounts: what is paid at most doubles, what arrives is not below zero', () => {
    const part = fc.bigInt({ min: 0n, max: 2_000n })
    const stated = fc.record({
      senderPays: part,
      recipientPays: part,
      convenience: part,
      total: fc.option(part, { nil: undefined }),
    })
    const amount = fc.bigInt({ min: 1n, max: 2_000n })
    fc.assert(
      fc.property(stated, amount, amount, fc.boolean(), (fees, debit, credit, oneCurrency) => {
        const broken = brokenFeeRule(fees, { ...terms, debit, credit, oneCurrency })
        const { senderPays, recipientPays, convenience, total } = fees
        const isSound =
          senderPays <= debit &&
          recipientPays <= credit &&
          (total === undefined ||
            (total === senderPays + recipientPays + convenience &&
              (oneCurrency || recipientPays === 0n)))
        expect(broken === undefined).toBe(isSound)
      }),
      { numRuns: 2_000 },
    )
  })
})
