// Institution transactions through the whole system: both shapes, every type, repeats, refusals, quotes and histories.
import { beforeAll, describe, expect, it } from 'vitest'
import { accountClient, dataOf } from '../accounts/account-client.ts'
import { institution_name } from '../accounts/customer.ts'
import { dateTimePattern, type Json, person, sharedMesh, unique } from '../harness.ts'
import { cents, newCustomer, seal, transferClient } from './transfer-client.ts'

const mesh = sharedMesh()
const demo = transferClient(mesh)
const other = transferClient(mesh, 'other')
/** Two customers of this file's own: the people of the sandbox are paid by other tests at the same time. */
let sender: string
let recipient: string
beforeAll(async () => {
  ;[sender, recipient] = await Promise.all([newCustomer(mesh, '200.00'), newCustomer(mesh, '1.00')])
})

const outside = { account_number: 'FAR-0001', organization_id: 'Far Bank' }

describe('a p2p transaction', () => {
  it('a p2p transaction is completed at once, in the shape of objects', async () => {
    const [from, to] = [await demo.balance(sender), await demo.balance(recipient)]
    const body = await demo.order(sender, recipient, {
      fees: { total: '0.40', convenience: '0.10', sender_pays: '0.20', recipient_pays: '0.10' },
      description: 'Lunch',
    })
    const made = await demo.post(body)
    expect(made.body, made.text).toMatchObject({ status: 'success', code: 200 })
    expect(made.body['institution_receipt_id']).toMatch(/^[\w-]{32}$/)
    expect(cents(from) - cents(await demo.balance(sender))).toBe(120)
    expect(cents(await demo.balance(recipient)) - cents(to)).toBe(90)
    const read = await demo.get(body['transaction_id'])
    expect(read.body).toMatchObject({
      transaction_id: body['transaction_id'],
      institution_receipt_id: made.body['institution_receipt_id'],
      transaction_type: 'p2p',
      transaction_status: 'completed',
      currency: 'USD',
      amount: '1.00',
      institution_name,
    })
  })

  it('a p2p transaction is completed at once, in the shape of lists', async () => {
    const from = await demo.balance(sender)
    const body = await demo.order(sender, recipient, {
      fees: [{ fee_type: 'sender_pays', fee_amount: '0.05', fee_currency: 'USD' }],
      debit_party: [{ key: 'mobile_number', value: sender }],
      credit_party: [
        { key: 'mobile_number', value: recipient },
        { key: 'currency', value: 'USD' },
      ],
    })
    const made = await demo.post(body)
    expect(made.status, made.text).toBe(200)
    expect(cents(from) - cents(await demo.balance(sender))).toBe(105)
  })

  it('a p2p transaction is one for thirty clients that send the same at once, and for the same token sealed again', async () => {
    const from = await demo.balance(sender)
    const token = await demo.session(sender)
    const body = await demo.order(sender, recipient, { session_token_enc: seal(mesh, token) })
    const answers = await Promise.all(Array.from({ length: 30 }, () => demo.post(body)))
    const again = await demo.post({ ...body, session_token_enc: seal(mesh, token) })
    const receipts = [...answers, again].map((one) => one.body['institution_receipt_id'])
    expect(new Set(receipts).size, answers[0]?.text).toBe(1)
    expect(receipts[0]).toBeDefined()
    expect(cents(from) - cents(await demo.balance(sender))).toBe(100)
  })

  it('a p2p transaction spends its token: of thirty with one token one is made', async () => {
    const token = await demo.session(sender)
    const from = await demo.balance(sender)
    const bodies = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const body = await demo.order(sender, recipient)
        return { ...body, session_token_enc: seal(mesh, token) }
      }),
    )
    const answers = await Promise.all(bodies.map((body) => demo.post(body)))
    const codes = answers.map(({ body }) => body['errorCode'] ?? body['code'])
    expect(codes.filter((code) => code === 200)).toHaveLength(1)
    expect(codes.filter((code) => code === 'SESSION_INVALID')).toHaveLength(29)
    expect(cents(from) - cents(await demo.balance(sender))).toBe(100)
  })
})

describe('a refusal', () => {
  const change = (more: Json) => async () => demo.order(sender, recipient, more)
  const refusals: [string, number, () => Promise<Json>][] = [
    ['SESSION_INVALID', 401, change({ session_token_enc: 'AQID' })],
    ['SESSION_INVALID', 401, change({ session_token_enc: 'A'.repeat(16_384) })],
    [
      'SESSION_INVALID',
      401,
      async () => ({
        ...(await demo.order(sender, recipient)),
        session_token_enc: seal(mesh, 'pws_unknown'),
      }),
    ],
    ['PARTY_NOT_ALLOWED', 403, change({ debit_party: { mobile_number: person(0) } })],
    ['PARTY_NOT_ALLOWED', 403, change({ transaction_type: 'deposit' })],
    ['ACCOUNT_NOT_FOUND', 404, change({ credit_party: { mobile_number: person(13) } })],
    ['AMBIGUOUS_MATCH', 409, change({ credit_party: { mobile_number: person(9) } })],
    ['ACCOUNT_UNAVAILABLE', 403, change({ credit_party: { mobile_number: person(10) } })],
    ['SAME_PARTIES', 400, async () => demo.order(sender, sender)],
    ['INVALID_PARAMETER', 400, change({ sender_currency: 'TTD' })],
    [
      'INVALID_PARAMETER',
      400,
      async () => {
        const credit_party = { mobile_number: recipient, currency: 'TTD' }
        return demo.order(sender, recipient, { credit_party })
      },
    ],
    ['INVALID_PARAMETER', 400, change({ amount: '1.001' })],
    ['INVALID_PARAMETER', 400, change({ fees: { recipient_pays: '1.01' } })],
    ['INVALID_PARAMETER', 400, change({ fees: { sender_pays: '1.01' } })],
    ['INVALID_PARAMETER', 400, change({ fees: { total: '1.00', sender_pays: '0.50' } })],
    ['INVALID_PARAMETER', 400, change({ transaction_type: 'gift' })],
    ['MISSING_PARAMETER', 400, change({ credit_party: { mobile_number: person(5) } })],
    ['LIMIT_EXCEEDED', 403, async () => demo.order(3, 2, { amount: '73.72' })],
    // All that leaves the account counts: 73.00 and 0.72 together.
    [
      'LIMIT_EXCEEDED',
      403,
      async () => demo.order(3, 2, { amount: '73.00', fees: { sender_pays: '0.72' } }),
    ],
    ['INSUFFICIENT_FUNDS', 409, async () => demo.order(3, 2, { amount: '60.00' })],
    ['QUOTE_NOT_FOUND', 404, change({ quote_id: crypto.randomUUID() })],
    [
      'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED',
      403,
      change({ transfer_information: { institution_name: 'Restricted Bank' } }),
    ],
  ]
  it.each(refusals)(
    'a refused transaction is answered and leaves no trace: %s gets %d',
    async (reason, code, bodyOf) => {
      const body = await bodyOf()
      const answer = await demo.post(body)
      expect([answer.body['errorCode'], answer.status], answer.text).toEqual([reason, code])
      expect((await demo.get(body['transaction_id'])).status).toBe(404)
    },
  )

  it('a refusal spends nothing: the same token makes the corrected transaction, under the same id', async () => {
    const body = await demo.order(sender, recipient, { amount: '999999.00' })
    expect((await demo.post(body)).body['errorCode']).toBe('LIMIT_EXCEEDED')
    const mended = await demo.post({ ...body, amount: '1.00' })
    expect(mended.status, mended.text).toBe(200)
  })

  it('another body under a used id is refused for the id, before its other errors', async () => {
    const body = await demo.order(sender, recipient)
    await demo.post(body)
    const conflict = await demo.post({ ...body, amount: '1.0', sender_currency: 'TTD' })
    expect([conflict.status, conflict.body['errorCode']]).toEqual([409, 'DUPLICATE_TRANSACTION_ID'])
  })

  it('another project is refused for an id of ours', async () => {
    const body = await demo.order(sender, recipient)
    await demo.post(body)
    expect((await other.get(body['transaction_id'])).body['errorCode']).toBe(
      'TRANSACTION_NOT_FOUND',
    )
    const theirs = await other.order(sender, recipient, { transaction_id: body['transaction_id'] })
    expect((await other.post(theirs)).status).toBe(200)
  })
})

/** How long a transfer that has ended was pending. */
async function pendingMs({ transaction_id }: Json): Promise<number> {
  const [row] = await mesh.rows<{ ms: number }>(
    `select (1000 * extract(epoch from end_time - create_time))::float8 as ms
     from institution.transaction where transaction_id = $1`,
    [transaction_id],
  )
  return row?.ms ?? 0
}

describe('a transfer', () => {
  it('a transfer to the outside takes the money, and completes after a second', async () => {
    const from = await demo.balance(sender)
    const body = await demo.order(sender, recipient, {
      transaction_type: 'inttransfer',
      credit_party: outside,
    })
    const made = await demo.post(body)
    expect(made.status, made.text).toBe(200)
    await demo.becomes(body['transaction_id'], 'completed')
    expect(await pendingMs(body)).toBeGreaterThanOrEqual(1_000)
    expect(cents(from) - cents(await demo.balance(sender))).toBe(100)
    expect((await demo.post(body)).body['institution_receipt_id']).toBe(
      made.body['institution_receipt_id'],
    )
  })

  it.each([
    ['inttransfer', 100],
    ['deposit', 0],
  ])(
    'a transfer whose fee takes the whole credit is executed like any other (%s)',
    async (transaction_type, taken) => {
      const from = await demo.balance(sender)
      const far = transaction_type === 'deposit' ? 'debit_party' : 'credit_party'
      const near = transaction_type === 'deposit' ? 'credit_party' : 'debit_party'
      const body = await demo.order(sender, recipient, {
        transaction_type,
        [near]: { mobile_number: sender },
        [far]: outside,
        fees: { recipient_pays: '1.00' },
      })
      const made = await demo.post(body)
      expect(made.status, made.text).toBe(200)
      await demo.becomes(body['transaction_id'], 'completed')
      expect(cents(from) - cents(await demo.balance(sender))).toBe(taken)
    },
  )

  it('a transfer to an account number ending 0402 fails, and the money is back', async () => {
    const from = await demo.balance(sender)
    const credit_party = { account_number: 'FAR-0402' }
    const body = await demo.order(sender, recipient, { transaction_type: 'cashout', credit_party })
    expect((await demo.post(body)).status).toBe(200)
    await demo.becomes(body['transaction_id'], 'failed')
    expect(await demo.balance(sender)).toBe(from)
  })

  it('a transfer to an account number ending 0504 stays pending, and the money is held', async () => {
    const from = await demo.balance(sender)
    const credit_party = { account_number: 'FAR-0504' }
    const body = await demo.order(sender, recipient, {
      transaction_type: 'inttransfer',
      credit_party,
    })
    expect((await demo.post(body)).status).toBe(200)
    const expectPending = async () => {
      const { body: seen } = await demo.get(body['transaction_id'])
      expect(seen['transaction_status']).toBe('pending')
      expect(cents(from) - cents(await demo.balance(sender))).toBe(100)
    }
    await expectPending()
    // Transfers that began later end, one after the other.
    for (const account_number of ['FAR-0402', 'FAR-0402']) {
      const later = { transaction_type: 'cashout', credit_party: { account_number } }
      const other = await demo.order(sender, recipient, later)
      expect((await demo.post(other)).status).toBe(200)
      await demo.becomes(other['transaction_id'], 'failed')
    }
    await expectPending()
  })

  it('a transfer from the outside is credited when it arrives', async () => {
    const before = await demo.balance(sender)
    const parties = { debit_party: outside, credit_party: { mobile_number: sender } }
    const body = await demo.order(sender, recipient, { transaction_type: 'deposit', ...parties })
    expect((await demo.post(body)).status).toBe(200)
    await demo.becomes(body['transaction_id'], 'completed')
    expect(cents(await demo.balance(sender)) - cents(before)).toBe(100)
  })
})

describe('a quote', () => {
  it('a quote is executed once, for its exact amounts, and names its transaction', async () => {
    const token = await demo.session(sender)
    const credit_party = { mobile_number: person(5) }
    const { body: quoted } = await demo.quote(token, { request_amount: '10.00', credit_party })
    const exchange = {
      quote_id: quoted['quote_id'],
      sender_currency: 'USD',
      sender_amount: '10.00',
    }
    const wrong = await demo.post(await demo.order(sender, 5, { ...exchange, amount: '67.83' }))
    expect(wrong.body['errorCode'], wrong.text).toBe('QUOTE_MISMATCH')
    const from = await demo.balance(sender)
    const body = await demo.order(sender, 5, { ...exchange, amount: quoted['amount_quoted'] })
    const made = await demo.post(body)
    expect(made.status, made.text).toBe(200)
    expect(cents(from) - cents(await demo.balance(sender))).toBe(1_000)
    const received = await accountClient(mesh).history({ ...credit_party, limit: 100 })
    expect((dataOf(received) as { transactions: Json[] }).transactions).toContainEqual(
      expect.objectContaining({
        transaction_id: body['transaction_id'],
        type: 'credit',
        amount: '67.82',
        currency: 'TTD',
      }),
    )
    const post = await demo.readQuote(quoted['quote_id'], {}, '/institution/post')
    expect(post.body, post.text).toMatchObject({
      quote_status: 'used',
      transaction_id: body['transaction_id'],
      institution_receipt_id: made.body['institution_receipt_id'],
      transaction_status: 'completed',
    })
    const again = await demo.post(
      await demo.order(sender, 5, { ...exchange, amount: quoted['amount_quoted'] }),
    )
    expect(again.body['errorCode']).toBe('QUOTE_ALREADY_USED')
  })
})

describe('the history', () => {
  it('the history shows a number’s transactions on either side, newest first, page by page', async () => {
    const bodies = [await demo.order(sender, recipient), await demo.order(sender, recipient)]
    for (const body of bodies) await demo.post(body)
    for (const number of [sender, recipient]) {
      const first = await demo.history(number, { limit: '1' })
      const page = first.body['data'] as Json
      expect(page, first.text).toMatchObject({
        mobile_number: number,
        count: 1,
        has_more: true,
      })
      const cursor = String(page['next_cursor'])
      const second = await demo.history(number, { limit: '1', cursor })
      const ids = [page, second.body['data'] as Json].map(
        ({ transactions }) => (transactions as Json[])[0]?.['transaction_id'],
      )
      expect(ids).toEqual(bodies.map((body) => body['transaction_id']).toReversed())
    }
  })

  it('the history shows every field, both sides masked', async () => {
    const body = await demo.order(sender, recipient, { description: unique('words') })
    await demo.post(body)
    const { body: answer } = await demo.history(sender, { limit: '1' })
    const [item] = (answer['data'] as { transactions: Json[] }).transactions
    expect(item).toEqual({
      transaction_id: body['transaction_id'],
      institution_receipt_id: expect.any(String),
      transaction_type: 'p2p',
      transaction_status: 'completed',
      amount: '1.00',
      currency: 'USD',
      sender_amount: '1.00',
      sender_currency: 'USD',
      fees: { total: '0.00', convenience: '0.00', sender_pays: '0.00', recipient_pays: '0.00' },
      quote_id: null,
      description: body['description'],
      posted_date: expect.stringMatching(dateTimePattern),
      cleared_date: expect.stringMatching(dateTimePattern),
      sender: expect.objectContaining({ mobile_number: `*******${sender.slice(-4)}` }),
      recipient: expect.objectContaining({ mobile_number: `*******${recipient.slice(-4)}` }),
    })
  })

  it('the history of an unused number is empty', async () => {
    const answer = await demo.history('+12025550177')
    expect(answer.body['data'], answer.text).toMatchObject({
      transactions: [],
      count: 0,
      has_more: false,
      next_cursor: null,
    })
  })

  it('the history takes a window of 90 whole days, or of times 90 days apart, and no more', async () => {
    const window = (start_datetime: string, end_datetime: string) =>
      demo.history(sender, { start_datetime, end_datetime })
    expect((await window('2026-01-01', '2026-03-31')).status).toBe(200)
    expect((await window('2026-01-01', '2026-04-01')).body['errorCode']).toBe('INVALID_PARAMETER')
    const noon = '2026-01-01 12:00:00'
    expect((await window(noon, '2026-04-01 12:00:00')).status).toBe(200)
    const over = await window(noon, '2026-04-01 12:00:01')
    expect(over.body['errorCode']).toBe('INVALID_PARAMETER')
    expect((await window('2026-01-02', '2026-01-01')).body['errorCode']).toBe('INVALID_PARAMETER')
    const bad = await demo.history(sender, { cursor: 'nonsense' })
    expect(bad.body['errorCode']).toBe('INVALID_PARAMETER')
  })
})
