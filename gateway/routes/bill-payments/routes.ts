// The /bill_payments routes: create a bill payment, read its outcome and receipt.
import type { Static } from 'typebox'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { fingerprint } from '#core/identity/digest.ts'
import { formatAmount } from '#core/money/money.ts'
import { characterCount } from '#core/text/text.ts'
import {
  type BillPayment,
  BillPaymentState,
  RetryCategory,
} from '#gen/payweave/billing/v1/billing_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { knownFields } from '../../http/body/schema-fields.ts'
import { refusal, type SuccessResponse, toPublicError } from '../../http/envelope.ts'
import { type Call, type Input, route } from '../../http/route.ts'
import {
  compileCheck,
  compileQuery,
  invalidField,
  isEmpty,
  readAmount,
  readCurrency,
  readPhone,
} from '../../http/validate.ts'
import { versionQuery } from '../schema-values.ts'
import { billPayBody, billPaymentQuery } from './schemas.ts'

type BillPayBody = Static<typeof billPayBody>

const version = '2026-07-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfPayment = compileQuery(billPaymentQuery, version)
const checkBillPay = compileCheck(billPayBody, missingIdNumber)
const fingerprinted = knownFields(billPayBody)

const { schema, unknownFields } = checkBillPay
const bodyOfBillPay = Object.assign(refuseReceiptId, { schema, unknownFields })

const common = { version, credential: { kind: 'none' } } as const

/** The three routes under /bill_payments. */
export const billPaymentRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/bill_payments/pay',
    envelope: 'billCreate',
    idempotencyKey: 'required',
    waitsForBiller: true,
    query: queryOfVersion,
    body: bodyOfBillPay,
    read: readBill,
    async operate(request, { services, projectId, idempotencyKey }) {
      const { payment, replayed } = await services.billing
        .payBill({ ...request, projectId, idempotencyKey }, withProject(projectId))
        .catch(publicBillError)
      const bill = given(payment)
      return { ...paid(bill), ...(replayed ? { headers: { 'Idempotency-Replayed': 'true' } } : {}) }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/bill_payments/status',
    envelope: 'billRead',
    query: queryOfPayment,
    read: ({ query }) => query.transaction_id,
    async operate(transactionId, call) {
      const bill = await readPayment(transactionId, call)
      const fields = {
        ...outcomeOf(bill),
        failure_code: bill.failureCode || null,
        retry_category: categories[bill.retryCategory],
      }
      return { code: 200, message: 'Bill payment status retrieved successfully.', fields }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/bill_payments/receipt',
    envelope: 'billRead',
    query: queryOfPayment,
    read: ({ query }) => query.transaction_id,
    async operate(transactionId, call) {
      const bill = await readPayment(transactionId, call)
      if (bill.state !== BillPaymentState.SUCCESS) throw refusal('RECEIPT_NOT_AVAILABLE')
      return { code: 200, fields: receiptOf(bill) }
    },
  }),
]

function refuseReceiptId(value: unknown, isPlain: boolean): BillPayBody {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'receipt_id')) {
    const message = 'receipt_id is not accepted in a request.'
    throw new Failure('RECEIPT_ID_NOT_ACCEPTED', message, { details: { field: 'receipt_id' } })
  }
  return checkBillPay(value, isPlain)
}

function missingIdNumber({ id_type, id_number }: Record<string, unknown>): string[] {
  return id_type !== undefined && isEmpty(id_number) ? ['id_number'] : []
}

function readBill({ body, originCountry }: Input<unknown, BillPayBody>) {
  const currency = readCurrency(body.currency, 'currency')
  const minorUnits = readAmount(body.amount, currency, 'amount')
  const { customer_mobile_no: phone = '', metadata } = body
  const customerMobileNumber =
    phone === '' ? '' : readPhone(phone, originCountry, 'customer_mobile_no')
  const { external_reference: externalReference, client_receipt_id: clientReceiptId } = body
  return {
    fingerprint: fingerprint(fingerprinted(body)),
    billerCode: body.biller_code,
    productCode: body.product_code,
    amount: { currency, minorUnits },
    customerReference: body.customer_reference,
    customerMobileNumber,
    ...(externalReference === undefined ? {} : { externalReference }),
    ...(clientReceiptId === undefined ? {} : { clientReceiptId }),
    idType: body.id_type ?? '',
    idNumber: body.id_number ?? '',
    description: body.description ?? '',
    otherData: body.other_data ?? '',
    metadataJson: metadata === undefined ? '' : readMetadata(metadata),
  }
}

const maxMetadata = 65_536

/** Metadata as JSON text, which is longer than the client's where that has numbers like 1e20. */
function readMetadata(metadata: object): string {
  const json = JSON.stringify(metadata)
  if (characterCount(json) <= maxMetadata) return json
  throw invalidField('metadata', `must have at most ${maxMetadata} characters as plain JSON`)
}

async function readPayment(
  transactionId: string,
  { services, projectId }: Call,
): Promise<BillPayment> {
  const request = { projectId, transactionId }
  const { payment } = await services.billing
    .getBillPayment(request, withProject(projectId))
    .catch(toPublicError())
  return given(payment)
}

function given(payment: BillPayment | undefined): BillPayment {
  if (payment === undefined) throw refusal('INTERNAL_ERROR')
  return payment
}

/** Refusals of the catalogue: the field that each is about, and what is wrong with it. */
const refusals: Partial<Record<Reason, { field: string; problem: string }>> = {
  CUSTOMER_REFERENCE_INVALID: {
    field: 'customer_reference',
    problem: 'is not of the form that this biller uses',
  },
  AMOUNT_OUT_OF_RANGE: { field: 'amount', problem: 'is not within what this product takes' },
  CURRENCY_NOT_SUPPORTED: { field: 'currency', problem: 'is not one that this product takes' },
}

function publicBillError(error: unknown): never {
  const known = error instanceof Failure ? refusals[error.reason] : undefined
  if (error instanceof Failure && known !== undefined) {
    const { field, problem } = known
    throw new Failure(error.reason, `${field} ${problem}.`, { details: { field }, cause: error })
  }
  return toPublicError()(error)
}

const statuses: Partial<Record<BillPaymentState, string>> = {
  [BillPaymentState.SUCCESS]: 'SUCCESS',
  [BillPaymentState.FAILED]: 'FAILED',
}

const categories: Record<RetryCategory, string | null> = {
  [RetryCategory.UNSPECIFIED]: null,
  [RetryCategory.RETRIABLE]: 'RETRIABLE',
  [RetryCategory.NON_RETRIABLE]: 'NON_RETRIABLE',
  [RetryCategory.CONDITIONAL]: 'CONDITIONAL',
}

/** The public part of a bill payment's outcome. */
function outcomeOf(bill: BillPayment) {
  return {
    transaction_id: bill.transactionId,
    normalized_status: statuses[bill.state] ?? null,
    receipt_id: bill.receiptId || null,
    external_reference: bill.externalReference ?? null,
    client_receipt_id: bill.clientReceiptId ?? null,
  }
}

function paid(bill: BillPayment): SuccessResponse {
  const fields = outcomeOf(bill)
  if (bill.state === BillPaymentState.SUCCESS) {
    return { code: 201, message: 'Bill payment completed successfully.', fields }
  }
  if (bill.state === BillPaymentState.FAILED) {
    const why = {
      failure_code: bill.failureCode,
      retry_category: categories[bill.retryCategory],
    }
    return { code: 201, message: 'Bill payment failed.', fields: { ...fields, ...why } }
  }
  const message = 'Bill payment accepted; its outcome is not known yet.'
  return { code: 202, message, fields }
}

function receiptOf(bill: BillPayment) {
  const { amount } = bill
  if (amount === undefined) throw refusal('INTERNAL_ERROR')
  return {
    transaction_id: bill.transactionId,
    receipt_id: bill.receiptId,
    normalized_status: 'SUCCESS',
    amount: formatAmount(amount.minorUnits, amount.currency),
    currency: amount.currency,
    biller_code: bill.billerCode,
    product_code: bill.productCode,
    customer_reference: bill.customerReference,
    external_reference: bill.externalReference ?? null,
    client_receipt_id: bill.clientReceiptId ?? null,
  }
}
