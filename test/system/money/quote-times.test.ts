// What time and silence do to quotes: sessions and quotes that end, rates that grow old, parts that do not answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { freeze } from '../../support/freeze.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { client } from '../accounts/customer.ts'
import { type Json } from '../harness.ts'
import { transferClient } from './transfer-client.ts'

// Longer than a machine stalls between two steps that must come before they end.
const lifeS = 10
const rateMaxAgeS = 5
const settings = {
  SESSION_TTL_S: String(lifeS),
  QUOTE_TTL_S: String(lifeS),
  RATE_MAX_AGE_S: String(rateMaxAgeS),
}
let mesh: Mesh
let demo: ReturnType<typeof client>
beforeAll(async () => {
  mesh = await startMesh({ settings, name: 'quote-times' })
  demo = client(mesh)
})
afterAll(() => mesh.remove())

const toDollars = { credit_party: { currency: 'TTD' } }

/** Holds a process still while something is asked; it runs on afterwards. */
async function whileStill<T>(part: string, work: () => Promise<T>): Promise<T> {
  const thaw = await freeze(mesh.pid(part))
  try {
    return await work()
  } finally {
    thaw()
  }
}

/** A quote by a new session, once the source has returned its rate in time. */
async function firstQuote(): Promise<{ token: string; quote: Json }> {
  return eventually(async () => {
    const token = await demo.session(0)
    const { status, body, text } = await demo.quote(token, toDollars)
    expect(status, text).toBe(200)
    return { token, quote: body }
  })
}

const readPost = (quote: Json) => demo.readQuote(quote['quote_id'], {}, '/institution/post')

// While the first session and quote grow old, the other tests take their time.
describe('a session and a quote', () => {
  let token: string
  let quote: Json

  it('a session and a quote are valid at first', async () => {
    ;({ token, quote } = await firstQuote())
    expect((await readPost(quote)).body['quote_status']).toBe('active')
  })

  describe('a quote', () => {
    it('a quote is refused plainly while accounts does not answer', async () => {
      const session = await demo.session(0)
      const { status, body } = await whileStill('accounts', () => demo.quote(session))
      expect([503, 504]).toContain(status)
      expect(Object.keys(body)).toEqual(['status', 'code', 'message'])
    })

    it('a quote is not made with an old rate, and is made again with a fresh one', async () => {
      await firstQuote()
      const statuses = new Set<number>()
      await whileStill('simulator', async () => {
        await eventually(
          async () => (await demo.quote(await demo.session(0), toDollars)).status,
          (status) => expect(status).not.toBe(200),
        )
        // A call may time out before the reason is known.
        await eventually(
          async () => {
            const answer = await demo.quote(await demo.session(0), toDollars)
            statuses.add(answer.status)
            return answer
          },
          (answer) =>
            expect(answer.body, answer.text).toEqual({
              status: 'error',
              code: 503,
              message: expect.any(String),
            }),
        )
      })
      expect([...statuses].filter((status) => ![503, 504].includes(status))).toEqual([])
      await eventually(
        async () => demo.quote(await demo.session(0), toDollars),
        (answer) => expect(answer.status, answer.text).toBe(200),
      )
    })
  })

  it('a session and a quote expire when their time is up', async () => {
    await eventually(
      async () => (await readPost(quote)).body['quote_status'],
      (state) => expect(state).toBe('expired'),
    )
    await eventually(
      () => demo.quote(token),
      ({ body }) =>
        expect(body).toEqual({
          status: 'error',
          code: 401,
          message: 'The session token has expired.',
        }),
    )
    const { quote_status, transaction_id } = (await readPost(quote)).body
    expect([quote_status, transaction_id]).toEqual(['expired', null])
    const { order, post } = transferClient(mesh)
    const late = await post(
      await order(0, 5, {
        quote_id: quote['quote_id'],
        sender_currency: 'USD',
        sender_amount: '10.00',
        amount: quote['amount_quoted'],
      }),
    )
    expect([late.status, late.body['errorCode']], late.text).toEqual([409, 'QUOTE_EXPIRED'])
    // What it said stays readable.
    const kept = await demo.readQuote(quote['quote_id'])
    expect(kept.body['amount_quoted']).toBe('67.82')
  })
})
