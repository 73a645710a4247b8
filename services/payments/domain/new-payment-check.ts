// Refuses payment requests whose fields are valid one by one but not together.
import { Failure, type Reason } from '#core/errors/errors.ts'
import { isCurrency } from '#core/money/money.ts'
import { channelMethods } from '#core/payment/words.ts'
import { checkPushUrl } from '#core/text/push-url.ts'
import type { NewPayer, NewPayment } from './new-payment.ts'

/**
 * Throws the first thing that is wrong; the contract has checked each field by itself. `details.field` is the field's path,
 * and the message starts with it.
 */
export function checkNewPayment(request: NewPayment, rule: { allowLoopback: boolean }): void {
  if (!isCurrency(request.currency)) invalid('currency', 'must be an ISO 4217 code')
  request.payers.forEach((payer, index) =>
    checkPayer(`payers[${index}]`, payer, request.payers.length > 1),
  )
  checkSums(request)
  for (const [name, url] of Object.entries(request.urls)) {
    const problem = url === '' ? undefined : checkPushUrl(url, rule)
    if (problem !== undefined) invalid(`urls.${name}`, problem)
  }
}

function checkPayer(path: string, payer: NewPayer, isOneOfSeveral: boolean): void {
  if (!channelMethods[payer.paymentChannel].includes(payer.paymentMethod)) {
    const problem = `is not offered by payment_channel ${payer.paymentChannel}`
    refuse('UNSUPPORTED_CHANNEL_METHOD', `${path}.payment_method`, problem)
  }
  if (isOneOfSeveral && payer.amountMinor === 0n) {
    refuse('MISSING_PARAMETER', `${path}.amount_minor`, 'is required')
  }
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

function invalid(field: string, problem: string): never {
  return refuse('INVALID_PARAMETER', field, problem)
}

function refuse(reason: Reason, field: string, problem: string): never {
  throw new Failure(reason, `${field} ${problem}`, { details: { field } })
}
