// Quotes that are executed: once, by their own account, with their money and residual in the ledger once, and to nobody's gain.
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type ApiResponse, type Json, person, sharedMesh } from '../harness.ts'
import { cents, transferClient } from './transfer-client.ts'

const mesh = sharedMesh()
const demo = transferClient(mesh)

type Line = { internal: string | null; currency: string; amount_minor: string }

/** The ledger's lines of the transaction that used a quote. */
function linesOf(quoteId: unknown): Promise<Line[]> {
  return mesh.rows<Line>(
    `select posting.internal, posting.currency, posting.amount_minor::text
     from quotes.quote join accounts.posting on posting.transfer_id = quote.movement_id
     where quote.quote_id = $1 order by posting.currency, posting.amount_minor`,
    [quoteId],
  )
}

/** Sends it, again while the answer is unclear, as an integrator does: thirty at once are much for a machine that stalls. */
function clearlyAnswered(body: Json): Promise<ApiResponse> {
  return eventually(
    () => demo.post(body),
    ({ status, text }) => expect(status, text).toBeLessThan(500),
  )
}

it('one of thirty concurrent transactions, each with its own session, executes the quote', async () => {
  const credit_party = { mobile_number: person(5) }
  const { body: quoted } = await demo.quote(await demo.session(1), { credit_party })
  const { quote_id, amount_quoted } = quoted
  const [from, to] = [await demo.balance(1), await demo.balance(5)]
  const bodies: Json[] = await Promise.all(
    Array.from({ length: 30 }, () =>
      demo.order(1, 5, {
        quote_id,
        sender_currency: 'USD',
        sender_amount: '10.00',
        amount: amount_quoted,
      }),
    ),
  )
  const answers = await Promise.all(bodies.map(clearlyAnswered))
  const made = answers.filter(({ status }) => status === 200)
  expect(made).toHaveLength(1)
  const reasons = answers.map(({ body }) => body['errorCode']).filter((code) => code !== undefined)
  expect(new Set(reasons)).toEqual(new Set(['QUOTE_ALREADY_USED']))
  expect(cents(from) - cents(await demo.balance(1))).toBe(1_000)
  expect(cents(await demo.balance(5)) - cents(to)).toBe(6_782)

  const winner = bodies[answers.findIndex(({ status }) => status === 200)]
  const { body: post } = await demo.readQuote(quote_id, {}, '/institution/post')
  expect(post).toMatchObject({
    quote_status: 'used',
    transaction_id: winner?.['transaction_id'],
    institution_receipt_id: made[0]?.body['institution_receipt_id'],
    transaction_status: 'completed',
  })
  // 10.00 USD are worth 67.829 TTD: rounding took, and fx_rounding has it.
  expect(await linesOf(quote_id)).toEqual([
    { internal: 'fx_position', currency: 'TTD', amount_minor: '-6783' },
    { internal: 'fx_rounding', currency: 'TTD', amount_minor: '1' },
    { internal: null, currency: 'TTD', amount_minor: '6782' },
    { internal: null, currency: 'USD', amount_minor: '-1000' },
    { internal: 'fx_position', currency: 'USD', amount_minor: '1000' },
  ])
})

it('a transaction that is refused leaves the quote to the next one', async () => {
  // Person 02 has 500.00 USD: too little.
  const credit_party = { mobile_number: person(5) }
  const poor = { credit_party, request_amount: '600.00' }
  const { body: quoted } = await demo.quote(await demo.session(2), poor)
  const exchange = {
    quote_id: quoted['quote_id'],
    sender_currency: 'USD',
    sender_amount: '600.00',
    amount: quoted['amount_quoted'],
  }
  const refused = await demo.post(await demo.order(2, 5, exchange))
  expect(refused.body['errorCode'], refused.text).toBe('INSUFFICIENT_FUNDS')
  const { body: free } = await demo.readQuote(quoted['quote_id'], {}, '/institution/post')
  expect([free['quote_status'], free['transaction_id']]).toEqual(['active', null])
  const help = await demo.post(await demo.order(0, 2, { amount: '200.00' }))
  expect(help.status, help.text).toBe(200)
  const made = await demo.post(await demo.order(2, 5, exchange))
  expect(made.status, made.text).toBe(200)
})

it('a quote runs with a newer session of its account, and with none of another account', async () => {
  const credit_party = { mobile_number: person(5) }
  const { body: quoted } = await demo.quote(await demo.session(11), { credit_party })
  const exchange = {
    quote_id: quoted['quote_id'],
    sender_currency: 'USD',
    sender_amount: '10.00',
    amount: quoted['amount_quoted'],
  }
  const from = await demo.balance(1)
  const foreign = await demo.order(1, 5, exchange)
  const refused = await demo.post(foreign)
  expect([refused.status, refused.body['errorCode']], refused.text).toEqual([
    403,
    'PARTY_NOT_ALLOWED',
  ])
  expect((await demo.get(foreign['transaction_id'])).status).toBe(404)
  expect(await demo.balance(1)).toBe(from)
  const made = await demo.post(await demo.order(11, 5, exchange))
  expect(made.status, made.text).toBe(200)
})

/** What persons 01 (USD) and 05 (TTD) have together, in ten-thousandths of a TTD cent at 6.7829. */
async function worth(): Promise<number> {
  return cents(await demo.balance(1)) * 67_829 + cents(await demo.balance(5)) * 10_000
}

const isFrom = { 1: { to: 5, currency: 'USD' }, 5: { to: 1, currency: 'TTD' } } as const

/** Exchanges an amount of one of the two for the other; undefined when it is worth less than a cent there. */
async function exchange(from: 1 | 5, request_amount: string, sender_pays: string) {
  const { to, currency: request_currency } = isFrom[from]
  const credit_party = { mobile_number: person(to) }
  const asked = { request_amount, request_currency, credit_party }
  const { body: quoted, text } = await demo.quote(await demo.session(from), asked)
  if (String(quoted['message']).includes('is worth less than 0.01')) return undefined
  const { quote_id, amount_quoted: amount } = quoted
  expect(quote_id, text).toBeDefined()
  const [sender_currency, sender_amount] = [request_currency, request_amount]
  const terms = { quote_id, sender_currency, sender_amount, amount }
  const made = await demo.post(await demo.order(from, to, { ...terms, fees: { sender_pays } }))
  expect(made.status, made.text).toBe(200)
  return String(amount)
}

const inCents = (minor: number) => (minor / 100).toFixed(2)

it('exchanging small amounts back and forth makes nobody richer', async () => {
  // 0.04 TTD were 0.01 USD, which were 0.07 TTD.
  expect(await exchange(5, '0.04', '0.00')).toBeUndefined()
  expect(await exchange(5, '0.07', '0.00')).toBe('0.01')
  expect(await exchange(1, '0.01', '0.00')).toBe('0.06')
  const trip = fc.record({ minor: fc.integer({ min: 7, max: 60 }), fee: fc.nat({ max: 7 }) })
  const property = fc.asyncProperty(
    fc.array(trip, { minLength: 1, maxLength: 4 }),
    async (trips) => {
      const before = await worth()
      for (const { minor, fee } of trips) {
        const dollars = await exchange(5, inCents(minor), inCents(fee))
        if (dollars !== undefined) await exchange(1, dollars, '0.00')
      }
      expect(await worth()).toBeLessThanOrEqual(before)
    },
  )
  await fc.assert(property, { numRuns: 6, endOnFailure: true })
})

it('what a transfer counts of the limits, its fee included, is given back whole when it fails', async () => {
  // Level 0: 1,000.00 TTD a day. Four of 40.00 USD in all are 1,085.26 TTD.
  const before = await demo.balance(3)
  const credit_party = { account_number: 'FAR-0402' }
  for (let round = 0; round < 4; round += 1) {
    const body = await demo.order(3, 3, {
      transaction_type: 'cashout',
      amount: '20.00',
      fees: { sender_pays: '20.00' },
      credit_party,
    })
    const made = await demo.post(body)
    expect(made.status, made.text).toBe(200)
    await demo.becomes(body['transaction_id'], 'failed')
  }
  expect(await demo.balance(3)).toBe(before)
})
