// Builds the ledger lines of a transaction, which sum to zero in each currency.
import { type Amounts, creditMinor, debitMinor } from './transaction.ts'

/** An account of our own that a transaction touches. */
export type InternalName = 'clearing' | 'fee_income' | 'fx_position' | 'fx_rounding'

/** One line: positive is a credit. */
export type Line = {
  address: { accountId: string } | { internal: InternalName }
  currency: string
  amountMinor: bigint
  /** How much of a customer's line is fees; never more than the line itself. */
  feeMinor: bigint
}

/** What lines are made of. */
export type MoneyMoved = Amounts & {
  debitAccountId: string | undefined
  creditAccountId: string | undefined
  /** What the quote's rounding adds to fx_rounding, in one of the two currencies. */
  rounding: { minor: bigint; currency: string | undefined }
}

/**
 * The lines of a transaction. A side that is no account of ours is the back end's clearing. Fees of either side are our
 * income in that side's currency. When money changes currency our position takes what the sender pays and gives what
 * the recipient gets, each without the part that rounding gave or took, which is fx_rounding's.
 */
export function ledgerLines(moved: MoneyMoved): Line[] {
  const { senderCurrency, currency, fees, debitAccountId, creditAccountId } = moved
  return [
    {
      address: sideOf(debitAccountId),
      currency: senderCurrency,
      amountMinor: -debitMinor(moved),
      feeMinor: debitAccountId === undefined ? 0n : fees.senderPaysMinor,
    },
    {
      address: sideOf(creditAccountId),
      currency,
      amountMinor: creditMinor(moved),
      feeMinor: creditAccountId === undefined ? 0n : fees.recipientPaysMinor,
    },
    ...feeLines(moved),
    ...exchangeLines(moved),
  ].filter((line) => line.amountMinor !== 0n)
}

function sideOf(accountId: string | undefined): Line['address'] {
  return accountId === undefined ? { internal: 'clearing' } : { accountId }
}

function feeLines({ senderCurrency, currency, fees }: MoneyMoved): Line[] {
  const { senderPaysMinor, recipientPaysMinor } = fees
  if (senderCurrency === currency) {
    return [ownLine('fee_income', currency, senderPaysMinor + recipientPaysMinor)]
  }
  return [
    ownLine('fee_income', senderCurrency, senderPaysMinor),
    ownLine('fee_income', currency, recipientPaysMinor),
  ]
}

function exchangeLines(moved: MoneyMoved): Line[] {
  const { senderCurrency, currency, senderAmountMinor, amountMinor, rounding } = moved
  if (senderCurrency === currency) return []
  const roundingIn = (code: string): bigint => (rounding.currency === code ? rounding.minor : 0n)
  return [
    ownLine('fx_position', senderCurrency, senderAmountMinor - roundingIn(senderCurrency)),
    ownLine('fx_rounding', senderCurrency, roundingIn(senderCurrency)),
    ownLine('fx_position', currency, -amountMinor - roundingIn(currency)),
    ownLine('fx_rounding', currency, roundingIn(currency)),
  ]
}

function ownLine(internal: InternalName, currency: string, amountMinor: bigint): Line {
  return { address: { internal }, currency, amountMinor, feeMinor: 0n }
}
