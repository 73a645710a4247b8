// Reads currencies, amounts and fees of a request once the accounts are known.
import { Failure } from '#core/errors/errors.ts'
import { parseAmount } from '#core/money/money.ts'
import {
  brokenFeeRule,
  type FeeName,
  feeNames,
  type StatedFees,
} from '#core/money/transaction-fees.ts'
import type { Amounts, NewTransaction, Sides, StatedFee } from './transaction.ts'

type Asked = Pick<
  NewTransaction,
  'amount' | 'senderAmount' | 'senderCurrency' | 'fees' | 'described' | 'quoteId'
>

// Keeps the sum of many fees of one type within its column.
const maxFeeMinor = 10n ** 18n - 1n

/** The money of a request. Every refusal names the field by its path in the body. */
export function readAmounts(request: Asked, sides: Sides): Amounts {
  const { senderCurrency, currency } = findCurrencies(request, sides)
  const amountMinor = readField('amount', request.amount, currency)
  const isExchange = senderCurrency !== currency
  if (isExchange && request.quoteId === '') throw refused('quote_id', 'is required', 'MISSING')
  const senderAmountMinor =
    request.senderAmount === ''
      ? readField('amount', request.amount, senderCurrency)
      : readField('sender_amount', request.senderAmount, senderCurrency)
  if (!isExchange && senderAmountMinor !== amountMinor) {
    if (request.quoteId !== '') {
      throw new Failure('QUOTE_MISMATCH', 'the amounts are not those that were quoted')
    }
    throw refused('sender_amount', 'must equal amount when both are in one currency')
  }
  const fees = readFees(request.fees, senderCurrency, currency)
  const broken = brokenFeeRule(fees, {
    debit: senderAmountMinor,
    credit: amountMinor,
    debitField: request.senderAmount === '' ? 'amount' : 'sender_amount',
    oneCurrency: !isExchange,
  })
  if (broken !== undefined) throw refused(`fees.${broken.fee}`, broken.rule)
  return {
    amountMinor,
    currency,
    senderAmountMinor,
    senderCurrency,
    fees: keptFees(fees, !isExchange),
  }
}

/** A side of ours is in its account's currency; one outside in what is stated of it, else in that of the other side. */
function findCurrencies({ described, senderCurrency, quoteId }: Asked, { debit, credit }: Sides) {
  const { debitParty, creditParty } = described
  const checkStated = checkOf(quoteId)
  checkStated('debit_party.currency', debitParty.currency, debit?.currency)
  checkStated('credit_party.currency', creditParty.currency, credit?.currency)
  const stated = debit?.currency ?? (debitParty.currency || senderCurrency)
  checkStated('sender_currency', senderCurrency, stated === '' ? undefined : stated)
  const debitCurrency = stated === '' ? undefined : stated
  const creditCurrency = credit?.currency ?? (creditParty.currency || debitCurrency)
  if (creditCurrency === undefined) throw new Error('neither side is an account of ours')
  return { senderCurrency: debitCurrency ?? creditCurrency, currency: creditCurrency }
}

/** Checks a currency of the request. With a quote, a wrong currency is QUOTE_MISMATCH. */
function checkOf(quoteId: string) {
  return (field: string, stated: string, wanted: string | undefined): void => {
    if (stated === '' || wanted === undefined || stated === wanted) return
    if (quoteId === '') throw refused(field, 'must be the currency of the account')
    throw new Failure('QUOTE_MISMATCH', `${field} is not the currency that was quoted`)
  }
}

function readFees(stated: StatedFee[], senderCurrency: string, currency: string): StatedFees {
  const sums = new Map<FeeName, bigint>()
  for (const fee of stated) {
    const name = feeNames.find((known) => known === fee.type)
    if (name === undefined) continue
    const field = `fees.${name}`
    const wanted = name === 'recipient_pays' ? currency : senderCurrency
    if (fee.currency !== '' && fee.currency !== wanted) {
      throw refused(field, `must be in ${wanted}`)
    }
    const minor = readField(field, fee.amount, wanted, { allowZero: true })
    const sum = (sums.get(name) ?? 0n) + minor
    if (sum > maxFeeMinor) throw refused(field, 'is too large')
    sums.set(name, sum)
  }
  return {
    senderPays: sums.get('sender_pays') ?? 0n,
    recipientPays: sums.get('recipient_pays') ?? 0n,
    convenience: sums.get('convenience') ?? 0n,
    total: sums.get('total'),
  }
}

/** A total that the client did not state is the sum of what is in the sender's currency. */
function keptFees(fees: StatedFees, isOneCurrency: boolean): Amounts['fees'] {
  const { senderPays, recipientPays, convenience } = fees
  const ownTotal = senderPays + convenience + (isOneCurrency ? recipientPays : 0n)
  return {
    totalMinor: fees.total ?? ownTotal,
    convenienceMinor: convenience,
    senderPaysMinor: senderPays,
    recipientPaysMinor: recipientPays,
  }
}

function readField(
  field: string,
  text: string,
  currency: string,
  options: { allowZero?: boolean } = {},
): bigint {
  try {
    return parseAmount(text, currency, options)
  } catch (error) {
    if (error instanceof Failure) throw refused(field, error.message)
    throw error
  }
}

function refused(field: string, rule: string, kind: 'INVALID' | 'MISSING' = 'INVALID'): Failure {
  const reason = kind === 'MISSING' ? 'MISSING_PARAMETER' : 'INVALID_PARAMETER'
  return new Failure(reason, `${field} ${rule}`, { details: { field } })
}
