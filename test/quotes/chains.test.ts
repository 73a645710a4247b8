// Chains of quotes at the sandbox's rates: however much is exchanged, and however often, nobody ends with more than they began with.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { rateBetween } from '../../connectors/simulator/domain/rate.ts'
import { type Amount, priceQuote } from '../../services/quotes/domain/quote.ts'
import { currencies, worthOf } from '../money/worth.ts'

const sourceTime = new Date()

/** Whether one amount is worth more than another at the table itself, before any rounding. */
function isWorthMore(one: Amount, other: Amount): boolean {
  return worthOf(one.amountMinor, one.currency) > worthOf(other.amountMinor, other.currency)
}

/** What a quote makes of an amount; undefined when it is refused. */
function exchanged(requested: Amount, currency: string): Amount | undefined {
  const rate = { text: rateBetween(requested.currency, currency), sourceTime }
  try {
    return priceQuote(requested, currency, rate).quoted
  } catch (error) {
    if (error instanceof Failure && error.reason === 'INVALID_PARAMETER') return undefined
    throw error
  }
}

const currency = fc.constantFrom(...currencies)
const amountMinor = fc.oneof(
  fc.bigInt({ min: 1n, max: 100n }),
  fc.bigInt({ min: 1n, max: 1_000_000n }),
  fc.bigInt({ min: 1n, max: 10n ** 15n }),
)
/** An exchange: into what, and the fees of either side in thousandths of its amount. */
const hop = fc.record({
  into: currency,
  senderShare: fc.constantFrom(0n, 1n, 500n, 1_000n),
  recipientShare: fc.constantFrom(0n, 1n, 500n, 1_000n),
})

describe('a chain of quotes', () => {
  it('a chain of quotes into every currency never makes an amount worth more', () => {
    fc.assert(
      fc.property(amountMinor, currency, fc.array(hop, { maxLength: 12 }), (minor, begun, hops) => {
        let held: Amount = { amountMinor: minor, currency: begun }
        for (const { into, senderShare, recipientShare } of hops) {
          // The holder pays the fee out of what they have, and the recipient out of what arrives.
          const requested = {
            ...held,
            amountMinor: (held.amountMinor * 1_000n) / (1_000n + senderShare),
          }
          if (requested.amountMinor === 0n) return
          const quoted = exchanged(requested, into)
          if (quoted === undefined) return
          expect(isWorthMore(quoted, requested)).toBe(false)
          const fee = (quoted.amountMinor * recipientShare) / 1_000n
          const got = { ...quoted, amountMinor: quoted.amountMinor - fee }
          expect(isWorthMore(got, held)).toBe(false)
          if (got.amountMinor === 0n) return
          held = got
        }
      }),
      { numRuns: 5_000 },
    )
  })

  it('a chain of quotes there and back, of every small amount between every two currencies, returns no more', () => {
    const gains: string[] = []
    for (const from of currencies) {
      for (const to of currencies) {
        for (let minor = 1n; minor <= 2_000n; minor += 1n) {
          const there = exchanged({ amountMinor: minor, currency: from }, to)
          const back = there === undefined ? undefined : exchanged(there, from)
          if (back !== undefined && back.amountMinor > minor) {
            gains.push(`${minor} ${from} became ${back.amountMinor} by way of ${to}`)
          }
        }
      }
    }
    expect(gains).toEqual([])
  })

  it('a chain of quotes that made money under half-even rounding does not begin', () => {
    // 0.04 TTD were a cent, which was 0.07 TTD.
    expect(exchanged({ amountMinor: 4n, currency: 'TTD' }, 'USD')).toBeUndefined()
    expect(exchanged({ amountMinor: 7n, currency: 'TTD' }, 'USD')?.amountMinor).toBe(1n)
    expect(exchanged({ amountMinor: 1n, currency: 'USD' }, 'TTD')?.amountMinor).toBe(6n)
  })
})
