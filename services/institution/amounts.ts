// Reads currencies, amounts and fees of a request once the accounts are known; it must not convert money.
import { Failure } from '#core/errors.ts'
import { parseAmount } from '#core/money.ts'
import type { NewTransaction, StatedFee } from './new-transaction.ts'
import type { Sides } from './parties.ts'
import type { Amounts } from './transaction.ts'

type Asked = Pick<
  NewTransaction,
  'amount' | 'senderAmount' | 'senderCurrency' | 'fees' | 'described' | 'quoteId'
>

// Many fees of one type must not outgrow a column, whatever each of them is.
const maxFeeMinor = 10n ** 18n - 1n

/** The money of a request. Every refusal names the field by its path in the body. */
export function readAmounts(asked: Asked, sides: Sides): Amounts {
  const { senderCurrency, currency } = findCurrencies(asked, sides)
  const amountMinor = readField('amount', asked.amount, currency)
  const isExchange = senderCurrency !== currency
  if (isExchange && asked.quoteId === '') throw refused('quote_id', 'is required', 'MISSING')
  const senderAmountMinor =
    asked.senderAmount === ''
      ? readField('amount', asked.amount, senderCurrency)
      : readField('sender_amount', asked.senderAmount, senderCurrency)
  if (!isExchange && senderAmountMinor !== amountMinor) {
    if (asked.quoteId !== '') {
      throw new Failure('QUOTE_MISMATCH', 'the amounts are not those that were quoted')
    }
    throw refused('sender_amount', 'must equal amount when both are in one currency')
  }
  const fees = readFees(asked.fees, senderCurrency, currency)
  if (fees.recipientPaysMinor > amountMinor) {
    throw refused('fees.recipient_pays', 'must not be above amount')
  }
  return { amountMinor, currency, senderAmountMinor, senderCurrency, fees }
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

/** A wrong currency beside a quote is first of all not what was quoted. */
function checkOf(quoteId: string) {
  return (field: string, stated: string, wanted: string | undefined): void => {
    if (stated === '' || wanted === undefined || stated === wanted) return
    if (quoteId === '') throw refused(field, 'must be the currency of the account')
    throw new Failure('QUOTE_MISMATCH', `${field} is not the currency that was quoted`)
  }
}

type FeeName = 'total' | 'convenience' | 'sender_pays' | 'recipient_pays'

function readFees(stated: StatedFee[], senderCurrency: string, currency: string): Amounts['fees'] {
  const sums = new Map<string, bigint>()
  for (const fee of stated) {
    if (!isFeeName(fee.type)) continue
    const field = `fees.${fee.type}`
    const wanted = fee.type === 'recipient_pays' ? currency : senderCurrency
    if (fee.currency !== '' && fee.currency !== wanted) {
      throw refused(field, `must be in ${wanted}`)
    }
    const minor = readField(field, fee.amount, wanted, { allowZero: true })
    const sum = (sums.get(fee.type) ?? 0n) + minor
    if (sum > maxFeeMinor) throw refused(field, 'is too large')
    sums.set(fee.type, sum)
  }
  const sumOf = (name: FeeName): bigint => sums.get(name) ?? 0n
  const senderPaysMinor = sumOf('sender_pays')
  const recipientPaysMinor = sumOf('recipient_pays')
  const ownTotal = senderPaysMinor + (senderCurrency === currency ? recipientPaysMinor : 0n)
  return {
    totalMinor: sums.get('total') ?? ownTotal,
    convenienceMinor: sumOf('convenience'),
    senderPaysMinor,
    recipientPaysMinor,
  }
}

function isFeeName(type: string): type is FeeName {
  return ['total', 'convenience', 'sender_pays', 'recipient_pays'].includes(type)
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
