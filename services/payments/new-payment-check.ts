// Refuses requests for payments that break the contract; it must not change a value nor look anything up.
import { Failure, type Reason } from '#core/errors.ts'
import { isUuid } from '#core/id.ts'
import { isCurrency } from '#core/money.ts'
import { channelMethods } from '#core/payment-words.ts'
import { checkPushUrl } from '#core/push-url.ts'
import { hasForbiddenCharacter } from '#core/text.ts'
import type { NewPayee, NewPayer, NewPayment } from './new-payment.ts'

const maxPeople = 20
const maxAmountMinor = 10n ** 18n - 1n
const maxDelayDays = 90
// Whether a number is possible was decided where it was read; asking again would cost 45 µs each.
const e164 = /^\+[1-9]\d{6,14}$/

/**
 * Throws the first thing that is wrong. `details.field` is the field's path within the JSON contract's
 * `transaction_request`, and the message starts with it.
 */
export function checkNewPayment(request: NewPayment, rule: { allowLoopback: boolean }): void {
  checkUuid('project_id', request.projectId)
  checkUuid('merchant_id', request.merchantId)
  if (request.transactionId === '') missing('id')
  checkText('id', request.transactionId, 64)
  checkAmount('amount', request.amountMinor)
  if (request.currency === '') missing('currency')
  if (!isCurrency(request.currency)) invalid('currency', 'must be an ISO 4217 code')
  checkText('description', request.description, 1_000, true)
  checkFeeTerms(request)
  checkCount('payers', request.payers, 1)
  checkCount('payees', request.payees, 0)
  request.payers.forEach((payer, index) =>
    checkPayer(`payers[${index}]`, payer, request.payers.length > 1),
  )
  request.payees.forEach((payee, index) => checkPayee(`payees[${index}]`, payee))
  checkSums(request)
  for (const [name, url] of Object.entries(request.urls)) {
    const problem = url === '' ? undefined : checkPushUrl(url, rule)
    if (problem !== undefined) invalid(`urls.${name}`, problem)
  }
  if (request.fingerprint.length !== 32) invalid('request_fingerprint', 'must be 32 bytes')
}

function checkFeeTerms({ feeTerms }: NewPayment): void {
  const { payerCoversPercent } = feeTerms
  if (payerCoversPercent > 100) invalid('fees.payer_covers', 'must be from 0 to 100')
}

function checkPayer(path: string, payer: NewPayer, isOneOfSeveral: boolean): void {
  checkNumber(path, payer)
  checkText(`${path}.first_name`, payer.firstName, 100)
  checkText(`${path}.last_name`, payer.lastName, 100)
  checkText(`${path}.email`, payer.email, 254)
  if (payer.email !== '' && !/^[^\s@]+@[^\s@]+$/.test(payer.email)) {
    invalid(`${path}.email`, 'must be an e-mail address')
  }
  if (payer.paymentChannel === undefined) return missing(`${path}.payment_channel`)
  if (payer.paymentMethod === undefined) return missing(`${path}.payment_method`)
  if (!channelMethods[payer.paymentChannel].includes(payer.paymentMethod)) {
    const problem = `is not offered by payment_channel ${payer.paymentChannel}`
    refuse('UNSUPPORTED_CHANNEL_METHOD', `${path}.payment_method`, problem)
  }
  if (isOneOfSeveral || payer.amountMinor !== 0n) checkAmount(`${path}.amount`, payer.amountMinor)
}

function checkPayee(path: string, payee: NewPayee): void {
  checkNumber(path, payee)
  checkAmount(`${path}.amount`, payee.amountMinor)
  if (payee.delayDays > maxDelayDays) invalid(`${path}.delay_days`, 'must be from 0 to 90')
}

function checkNumber(
  path: string,
  { mobileNumber, mobileNumberE164 }: { mobileNumber: string; mobileNumberE164: string },
): void {
  const field = `${path}.mobile_number`
  if (mobileNumberE164 === '') missing(field)
  if (!e164.test(mobileNumberE164)) invalid(field, 'must be in E.164 with plus sign')
  checkText(field, mobileNumber, 32)
}

function checkSums({ amountMinor, payers, payees }: NewPayment): void {
  const [only] = payers
  const isImplied = payers.length === 1 && only?.amountMinor === 0n
  if (!isImplied) checkSum('payers', payers, amountMinor)
  if (payees.length > 0) checkSum('payees', payees, amountMinor)
}

function checkSum(field: string, shares: { amountMinor: bigint }[], amountMinor: bigint): void {
  const sum = shares.reduce((sofar, share) => sofar + share.amountMinor, 0n)
  if (sum !== amountMinor) refuse('AMOUNT_MISMATCH', field, 'must have amounts that sum to amount')
}

function checkAmount(field: string, amountMinor: bigint): void {
  if (amountMinor === 0n) missing(field)
  if (amountMinor < 0n) invalid(field, 'must be above zero')
  if (amountMinor > maxAmountMinor) invalid(field, 'is too large')
}

function checkCount(field: string, people: unknown[], least: number): void {
  if (people.length < least) missing(field)
  if (people.length > maxPeople) invalid(field, `must be at most ${maxPeople}`)
}

function checkText(field: string, text: string, maxLength: number, multiline = false): void {
  // Characters as the edge counts them: a pair of surrogates is one.
  if (text.length > maxLength && Array.from(text).length > maxLength) {
    invalid(field, `must be at most ${maxLength} characters`)
  }
  if (hasForbiddenCharacter(text, { multiline })) {
    invalid(field, 'must not hold control characters')
  }
}

function checkUuid(field: string, text: string): void {
  if (text === '') missing(field)
  if (!isUuid(text)) invalid(field, 'must be a UUID')
}

function missing(field: string): never {
  return refuse('MISSING_PARAMETER', field, 'is required')
}

function invalid(field: string, problem: string): never {
  return refuse('INVALID_PARAMETER', field, problem)
}

function refuse(reason: Reason, field: string, problem: string): never {
  throw new Failure(reason, `${field} ${problem}`, { details: { field } })
}
