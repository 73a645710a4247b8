// Tests that the lines of a transaction sum to zero in each currency and give each side what it is owed.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { convert } from '#core/money/exchange.ts'
import { currencyDigits } from '#core/money/money.ts'
import { type Line, ledgerLines, type MoneyMoved } from './lines.ts'

// One currency of each exponent that ISO 4217 knows, and two of the common one.
const codes = ['JPY', 'USD', 'TTD', 'BHD', 'CLF']
const minor = (max: bigint) => fc.bigInt({ min: 0n, max })
const amount = fc.bigInt({ min: 1n, max: 10n ** 12n })
const party = fc.constantFrom('account', 'outside')

type Terms = { sender: string; recipient: string; sent: bigint; got: bigint; residual: bigint }

/** Money of one currency, or changed at a rate with either side the quoted one. */
const terms: fc.Arbitrary<Terms> = fc
  .record({
    sender: fc.constantFrom(...codes),
    recipient: fc.constantFrom(...codes),
    requested: amount,
    rate: fc.record({ digits: fc.bigInt({ min: 1n, max: 10n ** 9n }), scale: fc.nat(8) }),
    quotesDebit: fc.boolean(),
    residual: fc.bigInt({ min: -1n, max: 1n }),
  })
  .map(({ sender, recipient, requested, rate, quotesDebit, residual }) => {
    if (sender === recipient)
      return { sender, recipient, sent: requested, got: requested, residual: 0n }
    const [from, to] = quotesDebit ? [recipient, sender] : [sender, recipient]
    const quoted = convert(requested, from, to, rate)?.amountMinor ?? 1n
    const worth = quoted === 0n ? 1n : quoted
    const [sent, got] = quotesDebit ? [worth, requested] : [requested, worth]
    return { sender, recipient, sent, got, residual }
  })

const moved: fc.Arbitrary<MoneyMoved> = fc
  .record({
    terms,
    senderPays: minor(10n ** 6n),
    recipientShare: fc.bigInt({ min: 0n, max: 100n }),
    debit: party,
    credit: party,
    roundsDebit: fc.boolean(),
  })
  .filter(({ debit, credit }) => debit === 'account' || credit === 'account')
  .map(({ terms, senderPays, recipientShare, debit, credit, roundsDebit }) => ({
    amountMinor: terms.got,
    currency: terms.recipient,
    senderAmountMinor: terms.sent,
    senderCurrency: terms.sender,
    fees: {
      totalMinor: 0n,
      convenienceMinor: 0n,
      senderPaysMinor: senderPays,
      recipientPaysMinor: (terms.got * recipientShare) / 100n,
    },
    debitAccountId: debit === 'account' ? 'debit' : undefined,
    creditAccountId: credit === 'account' ? 'credit' : undefined,
    rounding: {
      minor: terms.residual,
      currency: roundsDebit ? terms.sender : terms.recipient,
    },
  }))

function sumOf(lines: Line[], address: object, currency: string): bigint {
  return lines
    .filter((line) => line.currency === currency)
    .filter((line) => JSON.stringify(line.address) === JSON.stringify(address))
    .reduce((sum, line) => sum + line.amountMinor, 0n)
}

describe('the lines of any transaction', () => {
  it('the lines of any transaction sum to zero in each currency', () => {
    fc.assert(
      fc.property(moved, (money) => {
        const sums = new Map<string, bigint>()
        for (const { currency, amountMinor } of ledgerLines(money)) {
          sums.set(currency, (sums.get(currency) ?? 0n) + amountMinor)
        }
        expect([...sums.values()].every((sum) => sum === 0n)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  it('the lines of any transaction debit the amount and fees of the sender, and credit the amount less the fees of the recipient', () => {
    fc.assert(
      fc.property(moved, (money) => {
        const lines = ledgerLines(money)
        const { fees, senderCurrency, currency } = money
        const debit =
          money.debitAccountId === undefined ? { internal: 'clearing' } : { accountId: 'debit' }
        const credit =
          money.creditAccountId === undefined ? { internal: 'clearing' } : { accountId: 'credit' }
        expect(sumOf(lines, debit, senderCurrency)).toBe(
          -money.senderAmountMinor - fees.senderPaysMinor,
        )
        expect(sumOf(lines, credit, currency)).toBe(money.amountMinor - fees.recipientPaysMinor)
        const earned = sumOf(lines, { internal: 'fee_income' }, currency)
        const earnedOfSender = sumOf(lines, { internal: 'fee_income' }, senderCurrency)
        const isOne = currency === senderCurrency
        expect(earned).toBe(fees.recipientPaysMinor + (isOne ? fees.senderPaysMinor : 0n))
        expect(earnedOfSender).toBe(fees.senderPaysMinor + (isOne ? fees.recipientPaysMinor : 0n))
      }),
      { numRuns: 2_000 },
    )
  })

  it('the lines of any transaction are never zero, and have the fees of the parties that are accounts', () => {
    fc.assert(
      fc.property(moved, (money) => {
        const { senderPaysMinor, recipientPaysMinor } = money.fees
        for (const { address, amountMinor, feeMinor } of ledgerLines(money)) {
          expect(amountMinor).not.toBe(0n)
          const paid = amountMinor < 0n ? senderPaysMinor : recipientPaysMinor
          expect(feeMinor).toBe('accountId' in address ? paid : 0n)
        }
      }),
    )
  })
})

it('the currencies of these tests have every exponent', () => {
  expect(new Set(codes.map(currencyDigits))).toEqual(new Set([0, 2, 3, 4]))
})
