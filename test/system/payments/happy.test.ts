// The way of a payment request from JSON to its delivered callback, field by field.
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type ApiResponse,
  type Created,
  createdOf,
  dateTimePattern,
  detailsOf,
  distinct,
  eventTypeOf,
  isoPattern,
  type Json,
  jsonOf,
  merchant,
  order,
  type Push,
  payer,
  person,
  receiver,
  sharedMesh,
} from '../harness.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const zeroFees = { total: '0.50', platform_processing: '0.50', merchant_pays: '0.50' }

describe('a payment request whose payer pays', () => {
  const inbox = receiver(mesh)
  const transaction = order({
    description: 'Order 1001',
    payers: [
      payer(1, {
        first_name: 'Kofi',
        last_name: 'Boateng',
        email: 'kofi@example.com',
        amount: '100.00',
      }),
    ],
    urls: inbox.urls,
  })
  let answer: ApiResponse
  let created: Created
  let paid: ApiResponse
  let notifies: Push[]

  beforeAll(async () => {
    answer = await shop.request(transaction)
    created = createdOf(answer)
    paid = await shop.stateIs(created.id, 'paid')
    const all = ['payment_initiated', 'payment_completed', 'payout_scheduled', 'payout_completed']
    await inbox.awaitNotifies(all)
    notifies = await inbox.notifies()
  })

  it('a payment request whose payer pays is accepted with a link for the payer', () => {
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/)
    expect(answer.headers.get('pw-request-id')).toBe(answer.body['request_id'])
    expect(answer.body).toEqual({
      status: 'success',
      code: 200,
      message: expect.stringMatching(/\w/),
      request_id: expect.stringMatching(uuid),
      timestamp: expect.stringMatching(isoPattern),
      observed_client_ip: { request_ip: '127.0.0.1', socket_remote_address: '127.0.0.1' },
      payment_details: {
        id: expect.stringMatching(/^\S{16,}$/),
        transaction_id: transaction.id,
        amount: '100.00',
        fraud_check_status: 'skipped',
        payers: [
          {
            amount: '100.00',
            status: 'Pending',
            url: expect.stringMatching(new RegExp(`^${mesh.sandbox.base_url}/pay/[\\w-]{22,}$`)),
          },
        ],
      },
    })
  })

  it('a request is paid within seconds, and GET status returns it as specified', () => {
    const time = expect.stringMatching(dateTimePattern)
    expect(paid.status).toBe(200)
    expect(paid.body).toEqual({
      status: 'success',
      code: 200,
      message: expect.stringMatching(/\w/),
      request_id: expect.stringMatching(uuid),
      timestamp: expect.stringMatching(isoPattern),
      observed_client_ip: { request_ip: '127.0.0.1', socket_remote_address: '127.0.0.1' },
      transaction_request: { id: transaction.id, status: 'succeeded' },
      payment_details: {
        id: created.id,
        transaction_id: transaction.id,
        amount: '100.00',
        currency: 'TTD',
        status: 'paid',
        fraud_check_status: 'skipped',
        payments_status: { paid: '100.00 TTD', remaining: '0.00 TTD', metadata: [] },
        fees: {
          card_processing: '0.00',
          agent_processing: '0.00',
          payer_pays: '0.00',
          payee_pays: '0.00',
          convenience: '0.00',
          ...zeroFees,
        },
        timestamps: { created_time: time, updated_time: time, expire_time: time },
        payees: [
          {
            mobile_number: expect.stringMatching(/^\+?\d+$/),
            amount: '100.00',
            delay_days: 0,
            fees_covered: 1,
            fee: '0.00',
          },
        ],
      },
      payers: [
        {
          mobile_number: person(1),
          payment_channel: 'payment_link',
          payment_method: 'wallet',
          status: 'paid',
        },
      ],
    })
  })

  it('a payment request has an expiry a day after it was made', () => {
    const { timestamps } = detailsOf(paid) as { timestamps: Record<string, string> }
    const utc = (name: string) => Date.parse(`${timestamps[name]?.replace(' ', 'T')}Z`)
    expect(Math.abs(utc('created_time') - Date.now())).toBeLessThan(120_000)
    expect(utc('expire_time') - utc('created_time')).toBe(24 * 3600 * 1000)
  })

  it('the merchant is notified that a link was issued', () => {
    expect(notify('payment_initiated')).toEqual({
      event_type: 'payment_initiated',
      transaction_id: transaction.id,
      status: 'INITIATED',
      timestamp: expect.stringMatching(isoPattern),
      description: expect.stringMatching(/\w/),
      payer: {
        name: 'Kofi Boateng',
        mobile_number: person(1),
        amount: 100,
        currency: 'TTD',
      },
    })
  })

  it('the merchant is notified that the payer has paid', () => {
    expect(notify('payment_completed')).toEqual({
      event_type: 'payment_completed',
      transaction_id: transaction.id,
      status: 'PAID',
      timestamp: expect.stringMatching(isoPattern),
      description: expect.stringMatching(/\w/),
      payer: {
        mobile_number: person(1),
        amount: 100,
        payment_method: 'wallet',
        currency: 'TTD',
      },
    })
  })

  it('the merchant is notified when the payout is scheduled and when it is completed', () => {
    const payee = {
      mobile_number: expect.stringMatching(/^\+?\d+$/),
      amount: expect.any(Number),
      currency: 'TTD',
    }
    expect(notify('payout_scheduled')).toMatchObject({ status: 'SCHEDULED', payee })
    expect(notify('payout_completed')).toMatchObject({ status: 'PAID', payee })
    for (const type of ['payout_scheduled', 'payout_completed']) {
      expect(notify(type)).not.toHaveProperty('payer')
    }
  })

  it('a payment request whose payer pays writes amounts of notifies as exact decimal literals', () => {
    for (const { body } of notifies) expect(body).toMatch(/"amount": ?\d+\.\d{2}[,}]/)
    expect(pushOf('payment_initiated').body).toMatch(/"amount": ?100\.00[,}]/)
  })

  it('a payment request whose payer pays makes every kind of notify once', () => {
    const kinds = distinct(notifies).map((body) => (JSON.parse(body) as Json)['event_type'])
    expect(kinds).toHaveLength(4)
  })

  it('a payment request whose payer pays sends no signature with its pushes', async () => {
    const pushes = [...notifies, ...(await inbox.callbacks())]
    for (const { headers } of pushes) {
      expect(headers['content-type']).toMatch(/^application\/json\b/)
      expect(
        Object.keys(headers).filter((name) => /signature|authori[sz]ation/i.test(name)),
      ).toEqual([])
    }
  })

  it('calls back with what GET status says', async () => {
    const [callback] = await inbox.calledBack(1)
    const now = (await shop.status(created.id)).body
    const { transaction_request, payers } = now
    const payment_details = now['payment_details'] as Json
    const { payments_status, fees, timestamps, payees } = payment_details
    expect(callback).toEqual({
      status: 'paid',
      sequence: 1,
      timestamp: expect.stringMatching(isoPattern),
      transaction_request,
      payment_details,
      payers,
      payments_status,
      fees,
      timestamps,
      payees,
    })
  })

  it('a payment request whose payer pays books the money that came in once', async () => {
    const receipts = await mesh.rows<{ amount_minor: string }>(
      `select amount_minor from payments.settlement
       where payment_id = $1 and kind::text like '%receipt'`,
      [created.id],
    )
    expect(receipts).toEqual([{ amount_minor: '10000' }])
  })

  function pushOf(type: string): Push {
    const found = notifies.find((push) => eventTypeOf(push) === type)
    if (found === undefined) throw new Error(`no ${type}`)
    return found
  }

  function notify(type: string): Json {
    return jsonOf(pushOf(type))
  }
})

describe('amounts', () => {
  const cases: [string, string, string, string][] = [
    ['TTD', '1', '1.00', '1.00'],
    ['TTD', '0.1', '0.10', '0.10'],
    ['JPY', '100', '100', '100'],
    ['BHD', '1.5', '1.500', '1.500'],
    ['CLF', '1.0001', '1.0001', '1.0001'],
    ['TTD', '999999999999999.99', '999999999999999.99', '999999999999999.99'],
  ]
  it.each(cases)(
    'amounts in %s: %s is answered as %s and pushed as the literal %s',
    async (...row) => {
      const [currency, amount, answered, literal] = row
      const inbox = receiver(mesh)
      const transaction = order({ currency, amount, urls: inbox.urls })
      const created = await shop.create(transaction)
      expect(detailsOf(created.answer)).toMatchObject({
        amount: answered,
        payers: [{ amount: answered }],
      })
      const status = detailsOf(await shop.status(created.id))
      expect(status).toMatchObject({
        amount: answered,
        payments_status: { remaining: `${answered} ${currency}` },
      })
      await inbox.awaitNotifies(['payment_initiated'])
      const [push] = await inbox.notifies()
      expect(push?.body).toMatch(new RegExp(`"amount": ?${literal.replace('.', '\\.')}[,}]`))
    },
  )
})

describe('numbers of payers', () => {
  it('numbers of payers are echoed as they were sent, national ones too', async () => {
    const numbers = ['2025550121', '12025550121', '+1 202 555 0121', '(202) 555-0121']
    for (const mobile_number of numbers) {
      const created = await shop.create(order({ payers: [payer(21, { mobile_number })] }))
      const { payers } = (await shop.status(created.id)).body as { payers: Json[] }
      expect(payers[0]?.['mobile_number']).toBe(mobile_number)
    }
  })
})

describe('payees', () => {
  it('an absent or empty list of payees means the owner of the api_key', async () => {
    const payees = await Promise.all(
      [{}, { payees: [] }].map(async (more) => {
        const created = await shop.create(order(more))
        return detailsOf(await shop.status(created.id))['payees']
      }),
    )
    expect(payees[0]).toEqual(payees[1])
    expect(payees[0]).toEqual([expect.objectContaining({ amount: '100.00', delay_days: 0 })])
  })
})

describe('the request id', () => {
  it('the request id of the caller is returned in the response', async () => {
    const id = crypto.randomUUID()
    const answer = await shop.call('GET', '/payments/status', {
      query: { api_key: shop.apiKey, payment_details_id: 'unknown' },
      headers: { 'PW-request-id': id },
    })
    expect(answer.body['request_id']).toBe(id)
    expect(answer.headers.get('pw-request-id')).toBe(id)
  })
})
