// Checks of bill payments: outcomes by customer reference, idempotency, the catalogue, receipts.
import type { ApiResponse, Json } from '../../clients/cli/api/api-call.ts'
import { eventually } from '../../clients/cli/api/eventually.ts'
import { bill, unique } from '../../clients/cli/api/order.ts'
import {
  type Check,
  type CheckContext,
  demand,
  demandAnswer,
  demandBillRefused,
  demandExactly,
  demandShape,
  groupOf,
} from './check.ts'
import { absent, anId, isoTime, oneOf } from './shape.ts'

const check = groupOf('bills', 'sandbox')
const receiptId = /^PWBP-[A-Z0-9]{8}$/
const water = {
  biller_code: 'DEMO_WATER',
  product_code: 'BILL',
  amount: '25.00',
  customer_reference: 'W1234567',
}

/** Nothing of the provider is in an answer. */
function demandPublic({ body }: ApiResponse): void {
  const inner = Object.keys(body).filter((name) => /provider|token|_ip$|encrypted/i.test(name))
  demand(inner.length === 0, `the answer has ${inner.join(', ')}`)
}

const refused: [name: string, code: string, status: number, change: Json][] = [
  ['biller', 'BILLER_NOT_FOUND', 404, { biller_code: 'DEMO_GAS' }],
  ['product', 'PRODUCT_NOT_FOUND', 404, { product_code: 'BILL' }],
  ['currency', 'CURRENCY_NOT_SUPPORTED', 400, { currency: 'EUR' }],
  ['below-least', 'AMOUNT_OUT_OF_RANGE', 400, { amount: '0.99' }],
  ['above-largest', 'AMOUNT_OUT_OF_RANGE', 400, { amount: '5000.01' }],
  ['not-exact', 'AMOUNT_OUT_OF_RANGE', 400, { ...water, amount: '25.01' }],
  ['reference', 'CUSTOMER_REFERENCE_INVALID', 400, { customer_reference: '1234567' }],
  ['amount-number', 'INVALID_PARAMETER', 400, { amount: 20 }],
  ['id-number', 'MISSING_PARAMETER', 400, { id_type: 'DP' }],
  ['id-type', 'INVALID_PARAMETER', 400, { id_type: 'XX', id_number: '1' }],
  ['receipt-id', 'RECEIPT_ID_NOT_ACCEPTED', 400, { receipt_id: 'PWBP-AAAAAAAA' }],
]

const failures: [reference: string, code: string][] = [
  ['12345670402', 'CUSTOMER_REFERENCE_REJECTED'],
  ['12345670409', 'BILL_ALREADY_PAID'],
]

const silences: [reference: string, outcome: 'SUCCESS' | 'FAILED', code: string | null][] = [
  ['12345670504', 'SUCCESS', null],
  ['12345670404', 'FAILED', 'UNCONFIRMED_NOT_FOUND'],
]

/** A bill whose biller says nothing: 202 first, the outcome by enquiry, then the repeat returns it. */
async function enquired({ shop }: CheckContext, reference: string, outcome: Json): Promise<void> {
  const key = unique('key')
  const body = bill({ customer_reference: reference })
  const first = await shop.pay(body, key)
  demandAnswer(first, 202, { normalized_status: null, transaction_id: anId })
  const id = String(first.body['transaction_id'])
  const ended = await eventually(
    'an outcome',
    async () => {
      const answer = await shop.billStatus(id)
      return answer.body['normalized_status'] === null ? undefined : answer
    },
    { withinMs: 60_000 },
  )
  demandAnswer(ended, 200, outcome)
  const again = await shop.pay(body, key)
  demandAnswer(again, 201, { transaction_id: id, normalized_status: outcome['normalized_status'] })
}

export const billChecks: Check[] = [
  check(
    'paid',
    'A bill that the biller accepts is 201 SUCCESS with a receipt_id (PWBP- and 8 characters) and both client references echoed, and no other field.',
    async ({ shop }) => {
      const body = bill({ client_receipt_id: 'till-1' })
      const answer = await shop.pay(body)
      demandExactly(answer, 201, {
        transaction_id: anId,
        normalized_status: 'SUCCESS',
        receipt_id: receiptId,
        external_reference: body['external_reference'],
        client_receipt_id: 'till-1',
      })
    },
  ),
  check(
    'references-optional',
    'Client references are optional, and null if absent.',
    async ({ shop }) => {
      const answer = await shop.pay(bill({ external_reference: undefined }))
      demandAnswer(answer, 201, { external_reference: null, client_receipt_id: null })
    },
  ),
  check('exact-amount', 'A product of one amount takes exactly it.', async ({ shop }) => {
    demandAnswer(await shop.pay(bill(water)), 201, { normalized_status: 'SUCCESS' })
  }),
  check('in-ttd', 'A product takes each of its currencies.', async ({ shop }) => {
    demandAnswer(await shop.pay(bill({ currency: 'TTD' })), 201, { normalized_status: 'SUCCESS' })
  }),
  check(
    'status',
    'GET /bill_payments/status returns status, receipt, references and failure, with a timestamp and without a request id.',
    async ({ shop }) => {
      const { body } = await shop.pay(bill())
      const answer = await shop.billStatus(String(body['transaction_id']))
      demandExactly(answer, 200, {
        transaction_id: body['transaction_id'],
        normalized_status: 'SUCCESS',
        receipt_id: body['receipt_id'],
        external_reference: body['external_reference'],
        client_receipt_id: null,
        failure_code: null,
        retry_category: null,
        timestamp: isoTime,
      })
      demandPublic(answer)
    },
  ),
  check(
    'receipt',
    'GET /bill_payments/receipt returns amount, currency, biller, product and references, and no message.',
    async ({ shop }) => {
      const sent = bill({ amount: '123.4' })
      const { body } = await shop.pay(sent)
      const answer = await shop.billReceipt(String(body['transaction_id']))
      demandAnswer(answer, 200, {
        message: absent,
        transaction_id: body['transaction_id'],
        receipt_id: body['receipt_id'],
        normalized_status: 'SUCCESS',
        amount: '123.40',
        currency: 'USD',
        biller_code: 'DEMO_POWER',
        product_code: 'PREPAID',
        customer_reference: '12345678',
        external_reference: sent['external_reference'],
        client_receipt_id: null,
        timestamp: isoTime,
      })
      demandPublic(answer)
    },
  ),
  ...refused.map(([name, code, status, change]) =>
    check(
      `refused-${name}`,
      `A refusal before acceptance is ${status} ${code}, and the key may be used again.`,
      async ({ shop }) => {
        const key = unique('key')
        demandBillRefused(await shop.pay(bill(change), key), status, code)
        demandAnswer(await shop.pay(bill(), key), 201)
      },
    ),
  ),
  ...failures.map(([customer_reference, failure_code]) =>
    check(
      `failed-${customer_reference.slice(-4)}`,
      `A reference ending ${customer_reference.slice(-4)} is 201 FAILED ${failure_code}, NON_RETRIABLE, without a receipt.`,
      async ({ shop }) => {
        const answer = await shop.pay(bill({ customer_reference }))
        demandAnswer(answer, 201, {
          normalized_status: 'FAILED',
          receipt_id: null,
          failure_code,
          retry_category: 'NON_RETRIABLE',
        })
        const receipt = await shop.billReceipt(String(answer.body['transaction_id']))
        demandBillRefused(receipt, 409, 'RECEIPT_NOT_AVAILABLE')
      },
    ),
  ),
  ...silences.map(([reference, outcome, failure_code]) =>
    check(
      `silent-${reference.slice(-4)}`,
      `A reference ending ${reference.slice(-4)} is 202 with normalized_status null, and after an enquiry ${outcome}; a repeat is then 201.`,
      async (context) => {
        await enquired(context, reference, {
          normalized_status: outcome,
          failure_code,
          retry_category: oneOf(null, 'CONDITIONAL'),
        })
      },
    ),
  ),
  check(
    'slow',
    'A reference ending 0408 is 201 SUCCESS although the biller takes 5 s.',
    async ({ shop }) => {
      const answer = await shop.pay(bill({ customer_reference: '12345670408' }))
      demandAnswer(answer, 201, { normalized_status: 'SUCCESS' })
    },
  ),
  check(
    'repeat',
    'The same Idempotency-Key with the same body returns the stored result, with Idempotency-Replayed: true.',
    async ({ shop }) => {
      const [key, body] = [unique('key'), bill()]
      const first = await shop.pay(body, key)
      const turned = Object.fromEntries(Object.entries(body).toReversed())
      const again = await shop.pay(turned, key)
      demandAnswer(again, 201, first.body)
      demandShape(again.headers['idempotency-replayed'], 'true', 'Idempotency-Replayed')
      demandShape(first.headers['idempotency-replayed'], absent, 'of the first answer')
    },
  ),
  check(
    'repeat-changed',
    'The same key with another body is 409 IDEMPOTENCY_KEY_CONFLICT; "10.0" and "10.00" differ.',
    async ({ shop }) => {
      const [key, body] = [unique('key'), bill({ amount: '10.0' })]
      demandAnswer(await shop.pay(body, key), 201)
      const other = await shop.pay({ ...body, amount: '10.00' }, key)
      demandBillRefused(other, 409, 'IDEMPOTENCY_KEY_CONFLICT')
    },
  ),
  check(
    'repeat-at-once',
    'Concurrent repeats pay once: each is the result or 409 IDEMPOTENCY_KEY_IN_PROGRESS with Retry-After: 1.',
    async ({ shop }) => {
      const [key, body] = [unique('key'), bill()]
      const answers = await Promise.all(Array.from({ length: 8 }, () => shop.pay(body, key)))
      const paid = answers.filter(({ status }) => status === 201)
      demand(new Set(paid.map((one) => one.body['transaction_id'])).size === 1, 'paid twice')
      for (const one of answers.filter(({ status }) => status !== 201)) {
        demandBillRefused(one, 409, 'IDEMPOTENCY_KEY_IN_PROGRESS')
        demandShape(one.headers['retry-after'], '1', 'Retry-After')
      }
    },
  ),
  check(
    'insufficient-funds',
    'A float without enough money is 409 INSUFFICIENT_FUNDS, and the key may be used again.',
    async ({ as }) => {
      const key = unique('key')
      demandBillRefused(await as('other').pay(bill(), key), 409, 'INSUFFICIENT_FUNDS')
      const again = await as('other').pay(bill({ amount: '21.00' }), key)
      demandBillRefused(again, 409, 'INSUFFICIENT_FUNDS')
    },
  ),
  check(
    'other-project',
    'A bill payment that is unknown, or of another project, is 404 BILL_PAYMENT_NOT_FOUND.',
    async ({ shop, as }) => {
      const { body } = await shop.pay(bill())
      const id = String(body['transaction_id'])
      demandBillRefused(await as('other').billStatus(id), 404, 'BILL_PAYMENT_NOT_FOUND')
      demandBillRefused(await as('other').billReceipt(id), 404, 'BILL_PAYMENT_NOT_FOUND')
      demandBillRefused(await shop.billStatus('unknown'), 404, 'BILL_PAYMENT_NOT_FOUND')
    },
  ),
]
