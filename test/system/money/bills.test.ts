// Bill payments through the whole system: every row of the sandbox, the float, receipts, and what must not leave.
import { describe, expect, it } from 'vitest'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { eventually } from '../../support/eventually.ts'
import { readPdf } from '../../support/files/pdf.ts'
import { type ApiResponse, type Json, merchant, sharedMesh, unique } from '../harness.ts'
import { grpcClient } from '../tools/grpc.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const stranger = merchant(mesh, 'other')
const query = { version: '2026-07-01' }

function bill(more: Json = {}): Json {
  return {
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: '20.00',
    currency: 'USD',
    customer_reference: '12345678',
    external_reference: unique('order'),
    ...more,
  }
}

function pay(body: Json, key = unique('key'), payer = shop): Promise<ApiResponse> {
  return payer.call('POST', '/bill_payments/pay', {
    query,
    headers: { 'Idempotency-Key': key },
    body,
  })
}

function read(
  what: 'status' | 'receipt',
  transactionId: unknown,
  reader = shop,
): Promise<ApiResponse> {
  const asked = { ...query, transaction_id: String(transactionId) }
  return reader.call('GET', `/bill_payments/${what}`, { query: asked })
}

async function projectId(): Promise<string> {
  const [row] = await mesh.rows<{ project_id: string }>(
    `select project_id from accounts.project where name = 'demo'`,
    [],
  )
  return row?.project_id ?? ''
}

describe('a bill that the biller takes', () => {
  it('a bill that the biller takes is paid once, with a receipt, from the float', async () => {
    const key = unique('key')
    const body = bill({ amount: '123.45', client_receipt_id: 'till-1' })
    const paid = await pay(body, key)
    expect(paid.status, paid.text).toBe(201)
    expect(paid.body).toEqual({
      status: 'success',
      code: 201,
      message: expect.any(String),
      transaction_id: expect.any(String),
      normalized_status: 'SUCCESS',
      receipt_id: expect.stringMatching(/^PWBP-[A-Z0-9]{8}$/),
      external_reference: body['external_reference'],
      client_receipt_id: 'till-1',
    })
    const again = await pay(Object.fromEntries(Object.entries(body).toReversed()), key)
    expect(again.status).toBe(201)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.body).toEqual(paid.body)
    const receipt = await read('receipt', paid.body['transaction_id'])
    expect(receipt.body).toMatchObject({ code: 200, amount: '123.45', currency: 'USD' })
    expect(receipt.body).not.toHaveProperty('message')
    const [row] = await mesh.rows<{ id: string }>(
      'select bill_payment_id as id from billing.bill_payment where transaction_id = $1',
      [paid.body['transaction_id']],
    )
    const id = row?.id ?? ''
    const team = grpcClient(mesh)
    const transfer = await eventually(async () => {
      const asked = { projectId: await projectId(), transferId: id }
      return (await team.ledger.getTransfer(asked)).transfer ?? false
    })
    team.close()
    const lines = transfer.postings.map(({ address, amount }) => [
      address?.holder.case === 'internal' ? address.holder.value : address?.holder.case,
      amount?.minorUnits,
    ])
    expect(new Map(lines as [unknown, bigint][])).toEqual(
      new Map<unknown, bigint>([
        ['floatProjectId', -12_345n],
        [InternalAccount.BILLER_CLEARING, 12_345n],
      ]),
    )
  })

  it('a bill that the biller takes can be printed at a link that nobody can guess', async () => {
    const paid = await pay(bill())
    const team = grpcClient(mesh)
    const printed = await team.billing.printReceipt({
      projectId: await projectId(),
      transactionId: String(paid.body['transaction_id']),
    })
    team.close()
    expect((await readPdf(printed.pdf)).letters).toContain('norealmoneymoves.')
    const page = await fetch(printed.url)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('application/pdf')
    expect(
      Buffer.from(await page.arrayBuffer())
        .subarray(0, 5)
        .toString(),
    ).toBe('%PDF-')
    const wrong = await fetch(printed.url.replace(/.{4}$/, 'AAAA'))
    expect(wrong.status).toBe(404)
  })

  it('a bill that the biller takes is unknown to another project', async () => {
    const { transaction_id: id } = (await pay(bill())).body
    for (const what of ['status', 'receipt'] as const) {
      const seen = await read(what, id, stranger)
      expect([seen.status, seen.body['errorCode']]).toEqual([404, 'BILL_PAYMENT_NOT_FOUND'])
    }
  })

  it('a bill of a fixed amount can be paid with exactly that amount', async () => {
    const water = {
      biller_code: 'DEMO_WATER',
      product_code: 'BILL',
      customer_reference: 'W1234567',
    }
    expect((await pay(bill({ ...water, amount: '25.00' }))).body['normalized_status']).toBe(
      'SUCCESS',
    )
    const other = await pay(bill({ ...water, amount: '25.01' }))
    expect([other.status, other.body['errorCode']]).toEqual([400, 'AMOUNT_OUT_OF_RANGE'])
  })
})

describe('the catalogue of the sandbox', () => {
  const water = { biller_code: 'DEMO_WATER', product_code: 'BILL', amount: '25.00' }

  it.each([
    [{ customer_reference: '12345678', amount: '1.00' }],
    [{ customer_reference: '123456789012', currency: 'TTD', amount: '5000.00' }],
    [{ ...water, customer_reference: 'W7654321' }],
  ])('the catalogue of the sandbox takes %j', async (more) => {
    expect((await pay(bill(more))).body).toMatchObject({ code: 201, normalized_status: 'SUCCESS' })
  })

  it.each([
    ['BILLER_NOT_FOUND', 404, { biller_code: 'DEMO_GAS' }],
    ['PRODUCT_NOT_FOUND', 404, { product_code: 'BILL' }],
    ['CURRENCY_NOT_SUPPORTED', 400, { currency: 'EUR' }],
    ['CURRENCY_NOT_SUPPORTED', 400, { ...water, customer_reference: 'W1234567', currency: 'TTD' }],
    ['AMOUNT_OUT_OF_RANGE', 400, { amount: '0.99' }],
    ['AMOUNT_OUT_OF_RANGE', 400, { amount: '5000.01' }],
    ['CUSTOMER_REFERENCE_INVALID', 400, { customer_reference: '1234567' }],
    ['CUSTOMER_REFERENCE_INVALID', 400, { customer_reference: '1234567890123' }],
    ['CUSTOMER_REFERENCE_INVALID', 400, { ...water, customer_reference: '12345678' }],
  ])('the catalogue of the sandbox refuses with %s, status %i: %j', async (code, status, more) => {
    const refused = await pay(bill(more))
    expect([refused.status, refused.body['errorCode']]).toEqual([status, code])
  })
})

describe('a bill that the biller refuses', () => {
  it.each([
    [{ customer_reference: '123456780402' }, 'CUSTOMER_REFERENCE_REJECTED'],
    [{ customer_reference: '123456780409' }, 'BILL_ALREADY_PAID'],
    [
      {
        customer_reference: 'W1230409',
        biller_code: 'DEMO_WATER',
        product_code: 'BILL',
        amount: '25.00',
      },
      'BILL_ALREADY_PAID',
    ],
  ])('a bill that the biller refuses with reference %j fails with %s', async (more, code) => {
    const failed = await pay(bill(more))
    expect(failed.status, failed.text).toBe(201)
    expect(failed.body).toMatchObject({
      normalized_status: 'FAILED',
      receipt_id: null,
      failure_code: code,
      retry_category: 'NON_RETRIABLE',
    })
    const receipt = await read('receipt', failed.body['transaction_id'])
    expect([receipt.status, receipt.body['errorCode']]).toEqual([409, 'RECEIPT_NOT_AVAILABLE'])
  })
})

describe.concurrent('a bill that takes its time', () => {
  it('a bill that takes its time is answered after five seconds with reference 0408', async () => {
    const paid = await pay(bill({ customer_reference: '12345670408' }))
    expect(paid.body).toMatchObject({ code: 201, normalized_status: 'SUCCESS' })
  })

  it.each([
    ['12345670504', 'SUCCESS', null, null],
    ['12345670404', 'FAILED', 'UNCONFIRMED_NOT_FOUND', 'CONDITIONAL'],
  ])(
    'a bill that takes its time with reference %s is accepted first and then %s',
    async (customer_reference, end, code, category) => {
      const key = unique('key')
      const body = bill({ customer_reference })
      const accepted = await pay(body, key)
      expect([accepted.status, accepted.body['normalized_status']]).toEqual([202, null])
      const id = accepted.body['transaction_id']
      await eventually(
        () => read('status', id),
        ({ body: status }) =>
          expect(status).toMatchObject({
            normalized_status: end,
            failure_code: code,
            retry_category: category,
          }),
      )
      const replay = await pay(body, key)
      expect(replay.status).toBe(201)
      expect(replay.body).toMatchObject({ transaction_id: id, normalized_status: end })
    },
    40_000,
  )
})

describe('a key', () => {
  it('a key is refused with another body', async () => {
    const key = unique('key')
    const body = bill({ amount: '10.0' })
    expect((await pay(body, key)).status).toBe(201)
    const other = await pay({ ...body, amount: '10.00' }, key)
    expect([other.status, other.body['errorCode']]).toEqual([409, 'IDEMPOTENCY_KEY_CONFLICT'])
  })

  it('a key sent thirty times at once pays once', async () => {
    const key = unique('key')
    const body = bill()
    const answers = await Promise.all(Array.from({ length: 30 }, () => pay(body, key)))
    const paid = answers.filter(({ status }) => status === 201)
    const running = answers.filter(({ status }) => status === 409)
    expect(paid.length + running.length).toBe(30)
    expect(new Set(paid.map((answer) => answer.body['transaction_id'])).size).toBe(1)
    for (const { headers, body: refused } of running) {
      expect(refused['errorCode']).toBe('IDEMPOTENCY_KEY_IN_PROGRESS')
      expect(headers.get('retry-after')).toBe('1')
    }
  })

  it('a key is free again when the float could not pay', async () => {
    const key = unique('key')
    const poor = await pay(bill(), key, stranger)
    expect([poor.status, poor.body['errorCode']]).toEqual([409, 'INSUFFICIENT_FUNDS'])
    const other = await pay(bill({ amount: '21.00' }), key, stranger)
    expect(other.body['errorCode']).toBe('INSUFFICIENT_FUNDS')
  })
})

describe('what a bill payment answers', () => {
  it('the answer to a bill payment holds nothing of the provider', async () => {
    const answers: string[] = []
    const references = ['12345678', '12345670402', '12345670409']
    for (const customer_reference of references) {
      const paid = await pay(bill({ customer_reference }))
      const id = paid.body['transaction_id']
      answers.push(paid.text, (await read('status', id)).text, (await read('receipt', id)).text)
    }
    const stored = await mesh.rows<{ bill_payment_id: string; provider_reference: string }>(
      `select bill_payment_id::text, provider_reference from billing.bill_payment
       where provider_reference <> ''`,
      [],
    )
    expect(stored.length).toBeGreaterThan(0)
    for (const row of stored) {
      for (const inner of [row.bill_payment_id, row.provider_reference]) {
        expect(answers.join('\n')).not.toContain(inner)
      }
    }
  })
})
