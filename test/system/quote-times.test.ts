// What time and silence do to quotes: sessions and quotes that end, rates that grow old, parts that do not answer.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freeze } from '../support/freeze.ts'
import { type Mesh, startMesh } from '../support/mesh.ts'
import { client } from './customer.ts'
import { transferClient } from './transfer-client.ts'
import { eventually } from './world.ts'

const settings = { SESSION_TTL_S: '3', QUOTE_TTL_S: '3', RATE_MAX_AGE_S: '1' }
let mesh: Mesh
beforeAll(async () => {
  mesh = await startMesh({ settings, name: 'quote-times' })
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

describe('a session and a quote', () => {
  it('end when their time is up', async () => {
    const demo = client(mesh)
    const token = await demo.session(0)
    const { body } = await demo.quote(token, toDollars)
    const read = () => demo.readQuote(body['quote_id'], {}, '/institution/post')
    expect((await read()).body['quote_status']).toBe('active')
    await sleep(3_100)
    expect((await demo.quote(token)).body).toEqual({
      status: 'error',
      code: 401,
      message: 'The session token has expired.',
    })
    const { quote_status, transaction_id } = (await read()).body
    expect([quote_status, transaction_id]).toEqual(['expired', null])
    const order = await transferClient(mesh).order(0, 5, {
      quote_id: body['quote_id'],
      sender_currency: 'USD',
      sender_amount: '10.00',
      amount: body['amount_quoted'],
    })
    const late = await transferClient(mesh).post(order)
    expect([late.status, late.body['errorCode']], late.text).toEqual([409, 'QUOTE_EXPIRED'])
    // What it said stays readable.
    const kept = await demo.readQuote(body['quote_id'])
    expect(kept.body['amount_quoted']).toBe('67.83')
  })
})

describe('a quote', () => {
  it('is not made with an old rate, and again with a fresh one', async () => {
    const demo = client(mesh)
    const first = await demo.quote(await demo.session(0), toDollars)
    expect(first.status, first.text).toBe(200)
    await whileStill('simulator', async () => {
      await sleep(1_100)
      const answer = await demo.quote(await demo.session(0), toDollars)
      expect(answer.body, answer.text).toEqual({
        status: 'error',
        code: 503,
        message: expect.any(String),
      })
    })
    await eventually(
      async () => demo.quote(await demo.session(0), toDollars),
      (answer) => expect(answer.status, answer.text).toBe(200),
    )
  })

  it('is refused plainly while accounts does not answer', async () => {
    const demo = client(mesh)
    const token = await demo.session(0)
    const { status, body } = await whileStill('accounts', () => demo.quote(token))
    expect([503, 504]).toContain(status)
    expect(Object.keys(body)).toEqual(['status', 'code', 'message'])
  })
})
