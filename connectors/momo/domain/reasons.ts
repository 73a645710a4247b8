// What MTN's codes mean to a payer. Pure. Codes: https://momodeveloper.mtn.com/api-documentation/common-error and /testing.
import type { RefusalReason } from '#core/payment/words.ts'
import type { Product } from './request.ts'

/**
 * Codes of a failed request, and why the attempt was refused. Codes about us, the payee, or about our configuration are
 * `unavailable`: the payer can only take another means.
 */
export const refusals: Readonly<Record<string, RefusalReason>> = {
  NOT_ENOUGH_FUNDS: 'insufficient_funds',
  PAYER_LIMIT_REACHED: 'limit_exceeded',
  PAYER_NOT_FOUND: 'invalid_details',
  NOT_ALLOWED: 'not_permitted',
  SENDER_ACCOUNT_NOT_ACTIVE: 'not_permitted',
  APPROVAL_REJECTED: 'not_confirmed',
  PAYMENT_NOT_APPROVED: 'not_confirmed',
  TRANSACTION_CANCELED: 'not_confirmed',
  EXPIRED: 'not_confirmed',
  // The payer did not approve within five minutes.
  COULD_NOT_PERFORM_TRANSACTION: 'not_confirmed',
  SERVICE_UNAVAILABLE: 'unavailable',
  PAYEE_NOT_FOUND: 'unavailable',
  PAYEE_NOT_ALLOWED_TO_RECEIVE: 'unavailable',
  INVALID_CURRENCY: 'unavailable',
  INVALID_CALLBACK_URL_HOST: 'unavailable',
  NOT_ALLOWED_TARGET_ENVIRONMENT: 'unavailable',
  TRANSFER_TYPE_UNKNOWN: 'unavailable',
  REQUEST_REJECTED: 'unavailable',
  // By MTN's words most often too little money, but also a service that is denied or down: the payer cannot know which.
  INTERNAL_PROCESSING_ERROR: 'declined',
  LOW_BALANCE_OR_PAYEE_LIMIT_REACHED_OR_NOT_ALLOWED: 'declined',
}

/** Why an attempt was refused; `declined` for a code that MTN has not published. */
export function refusalOf(code: string): RefusalReason {
  return (Object.hasOwn(refusals, code) ? refusals[code] : undefined) ?? 'declined'
}

const ofReceiver = ['PAYEE_NOT_FOUND', 'PAYEE_NOT_ALLOWED_TO_RECEIVE', 'TRANSFER_TYPE_UNKNOWN']
const ofPayer: ReadonlySet<string> = new Set([
  'NOT_ENOUGH_FUNDS',
  'PAYER_LIMIT_REACHED',
  'PAYER_NOT_FOUND',
])
/**
 * Codes with which MTN refuses a request permanently, with any HTTP status. Only codes about the receiver or the kind of transfer end
 * a disbursement: its payer is our account, and REQUEST_REJECTED is MTN's code for wrong headers, a currency of another environment
 * or a wrong URL (https://momodevelopercommunity.mtn.com/errors-46/momo-api-common-errors-82).
 */
export const permanentCodes: Readonly<Record<Product, ReadonlySet<string>>> = {
  collection: new Set([...ofReceiver, ...ofPayer, 'REQUEST_REJECTED']),
  disbursement: new Set(ofReceiver),
}

/** Whether a disbursement waits for our account at MTN, which pays it: an operator corrects it, or the next day its limit ends. */
export function isOfOwnAccount(product: Product, code: string): boolean {
  return product === 'disbursement' && ofPayer.has(code)
}

/**
 * Whether MTN's answer to a request ends it. After any other refusal the same request is sent again, since it may be accepted
 * later: when MTN is up, or an operator has corrected our account or configuration. A payer does not wait for that: a collection
 * ends with 400 and any code.
 */
export function isPermanent(product: Product, status: number, code: string | undefined): boolean {
  if (product === 'collection' && status === 400) return true
  return code !== undefined && permanentCodes[product].has(code)
}
