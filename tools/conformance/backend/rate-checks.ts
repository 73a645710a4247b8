// Checks of exchange rates: their form, their age, and that no chain of exchanges makes a profit.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { type Decimal, parseDecimal } from '#core/money/money.ts'
import { demand, Unmet } from '../check.ts'
import { type BackendCheck, backendGroup, type CheckContext, demandStatus } from './check.ts'

const rate = backendGroup('rates')
const clockSkewMs = 60_000

export const rateChecks: readonly BackendCheck[] = [
  rate(
    'form',
    'A rate is a plain decimal above zero with at least 4 decimals, and its time is not in the future.',
    ['rate.known'],
    async (context) => {
      const [base = '', quoted = ''] = context.outcome('rate.known').currencies
      const { rate: text, sourceTime } = await context.rates.getRate({
        baseCurrency: base,
        quotedCurrency: quoted,
      })
      demand(/^\d+\.\d{4,}$/.test(text), `the rate is "${text}"`)
      demand(readRate(text).digits > 0n, 'the rate is zero')
      if (sourceTime === undefined) throw new Unmet('the rate has no time')
      const aheadMs = timestampDate(sourceTime).getTime() - Date.now()
      demand(aheadMs < clockSkewMs, `the rate is of ${Math.round(aheadMs / 1_000)} s from now`)
    },
  ),
  rate(
    'no-profit',
    'Along any cycle of two or three currencies, the rates multiply to at most one.',
    ['rate.known'],
    async (context) => {
      const { currencies } = context.outcome('rate.known')
      const rates = await allRates(context, currencies)
      for (const a of currencies) {
        for (const b of currencies) {
          for (const c of currencies) {
            const cycle = [`${a}${b}`, `${b}${c}`, `${c}${a}`].map((pair) => rates.get(pair))
            const [digits, scale] = cycle.reduce<[bigint, number]>(
              ([product, scales], one) => [
                product * (one?.digits ?? 1n),
                scales + (one?.scale ?? 0),
              ],
              [1n, 0],
            )
            demand(digits <= 10n ** BigInt(scale), `${a}, ${b}, ${c} and back makes a profit`)
          }
        }
      }
    },
  ),
  rate(
    'unknown',
    'A currency without a rate is refused with INVALID_ARGUMENT.',
    ['rate.unknown'],
    async (context) => {
      const { base, quoted } = context.outcome('rate.unknown')
      const call = context.rates.getRate({ baseCurrency: base, quotedCurrency: quoted })
      await demandStatus(call, 'invalid_argument', `${base} to ${quoted}`)
    },
  ),
]

function readRate(text: string): Decimal {
  const read = parseDecimal(text)
  if (read === undefined) throw new Unmet(`"${text}" is no decimal`)
  return read
}

/** Rates between all different currencies, by both codes; of a currency to itself nothing is asked. */
async function allRates({ rates }: CheckContext, currencies: readonly string[]) {
  const pairs = currencies.flatMap((baseCurrency) =>
    currencies
      .filter((quotedCurrency) => quotedCurrency !== baseCurrency)
      .map((quotedCurrency) => ({ baseCurrency, quotedCurrency })),
  )
  const found = await Promise.all(
    pairs.map(async (pair): Promise<[string, Decimal]> => {
      const answer = await rates.getRate(pair)
      return [`${pair.baseCurrency}${pair.quotedCurrency}`, readRate(answer.rate)]
    }),
  )
  return new Map(found)
}
