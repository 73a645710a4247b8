// The /bill_payments routes up to the operations, which a later service brings; it must not know any biller.
import { Failure } from '#core/errors.ts'
import { compileQuery } from '../query.ts'
import { notBuilt, route } from '../route.ts'
import { billPayBody, billPaymentQuery } from '../schemas/bill-payments.ts'
import { versionQuery } from '../schemas/values.ts'
import { compileCheck, missingField } from '../validate.ts'
import { readAmount, readCurrency, readPhone } from '../values.ts'

const version = '2026-07-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfPayment = compileQuery(billPaymentQuery, version)
const checkBillPay = compileCheck(billPayBody)

const bodyOfBillPay: typeof checkBillPay = (value, isPlain) => {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'receipt_id')) {
    throw new Failure('RECEIPT_ID_NOT_ACCEPTED', 'receipt_id is not accepted in a request.')
  }
  return checkBillPay(value, isPlain)
}

const common = { version, operate: notBuilt, credential: { kind: 'none' } } as const

/** The three routes under /bill_payments. */
export const billPaymentRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/bill_payments/pay',
    envelope: 'billCreate',
    idempotencyKey: true,
    query: queryOfVersion,
    body: bodyOfBillPay,
    read({ body, originCountry }) {
      const currency = readCurrency(body.currency, 'currency')
      readAmount(body.amount, currency, 'amount')
      const { customer_mobile_no: phone = '' } = body
      if (phone !== '') readPhone(phone, originCountry, 'customer_mobile_no')
      if (body.id_type !== undefined && body.id_number === undefined) {
        throw missingField('id_number')
      }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/bill_payments/status',
    envelope: 'billRead',
    query: queryOfPayment,
    read: ({ query }) => query.transaction_id,
  }),
  route({
    ...common,
    method: 'GET',
    path: '/bill_payments/receipt',
    envelope: 'billRead',
    query: queryOfPayment,
    read: ({ query }) => query.transaction_id,
  }),
]
