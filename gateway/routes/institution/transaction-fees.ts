// Reads the fees of an institution transaction, in both of their shapes, and refuses by path what breaks their rules.
import type { Static } from 'typebox'
import { brokenFeeRule, type FeeName, feeNames } from '#core/money/transaction-fees.ts'
import { invalidField, readAmount, readCurrency } from '../../http/validate.ts'
import type { institutionTransactionBody } from './schemas.ts'

type Body = Static<typeof institutionTransactionBody>

/** A fee as the service receives it; one from an object has no currency. */
export type StatedFee = { type: string; amount: string; currency: string }

/** The currencies that the client stated for the two sides; empty where it stated none. */
export type StatedCurrencies = { debit: string; credit: string }

/** A fee, and its path in the body. */
type PlacedFee = StatedFee & { path: string }

/**
 * The fees of a body. INVALID_PARAMETER by the path of the first that breaks a rule of `core/money/transaction-fees.ts`. In which
 * currency an amount is, only the service knows for sure: it goes by the same rules.
 */
export function readFees(body: Body, currencies: StatedCurrencies): StatedFee[] {
  const { fees = {} } = body
  const isList = Array.isArray(fees)
  const placed = isList ? fees.map(listedFee) : objectFees(fees)
  if (isList) checkCurrencies(placed, body, currencies)
  checkRules(placed, body, isList)
  return placed.map(({ type, amount, currency }) => ({ type, amount, currency }))
}

function objectFees(fees: Exclude<NonNullable<Body['fees']>, unknown[]>): PlacedFee[] {
  return feeNames.flatMap((type) => {
    const amount = fees[type]
    return amount === undefined ? [] : [{ type, amount, currency: '', path: `fees.${type}` }]
  })
}

type ListedFee = { fee_type: string; fee_amount: string; fee_currency: string }

function listedFee({ fee_type: type, fee_amount: amount, fee_currency }: ListedFee, index: number) {
  const path = `fees[${index}]`
  const currency = readCurrency(fee_currency, `${path}.fee_currency`)
  readAmount(amount, currency, `${path}.fee_amount`, { allowZero: true })
  return { type, amount, currency, path }
}

/** A fee is in the currency of the side that it goes with; of what is not stated the service knows it. */
function checkCurrencies(placed: PlacedFee[], { quote_id }: Body, stated: StatedCurrencies): void {
  // Without a quote both sides are in one currency.
  const other = (own: string, far: string) => own || (quote_id === undefined ? far : '')
  const debit = other(stated.debit, stated.credit)
  const credit = other(stated.credit, stated.debit)
  for (const { type, currency, path } of placed) {
    if (!isFeeName(type)) continue
    const wanted = type === 'recipient_pays' ? credit : debit
    if (wanted !== '' && currency !== wanted) {
      throw invalidField(`${path}.fee_currency`, `must be ${wanted}`)
    }
  }
}

function checkRules(placed: PlacedFee[], body: Body, isList: boolean): void {
  const { amount, sender_amount, quote_id } = body
  const ofType = (name: FeeName) => placed.filter(({ type }) => type === name)
  const sumOf = (name: FeeName) =>
    ofType(name).reduce((sum, fee) => sum + tenThousandths(fee.amount), 0n)
  const recipientPays = sumOf('recipient_pays')
  // With a quote the recipient may pay in another currency, which a total cannot sum.
  const isSummable = quote_id === undefined || recipientPays === 0n
  const hasTotal = isSummable && ofType('total').length > 0
  const broken = brokenFeeRule(
    {
      senderPays: sumOf('sender_pays'),
      recipientPays,
      convenience: sumOf('convenience'),
      total: hasTotal ? sumOf('total') : undefined,
    },
    {
      debit: tenThousandths(sender_amount ?? amount),
      credit: tenThousandths(amount),
      debitField: sender_amount === undefined ? 'amount' : 'sender_amount',
      oneCurrency: true,
    },
  )
  if (broken === undefined) return
  const { fee, rule } = broken
  const path = ofType(fee).at(-1)?.path ?? 'fees'
  if (!isList) throw invalidField(path, rule)
  throw invalidField(`${path}.fee_amount`, `adds to ${fee}, which ${rule}`)
}

function isFeeName(type: string): type is FeeName {
  return feeNames.some((name) => name === type)
}

/** An amount in ten-thousandths of its unit: in no currency does it have more than four decimals. */
function tenThousandths(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(4, '0'))
}
