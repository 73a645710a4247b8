// Every documented field of every route with hostile values: each answer is a documented one, and none is an error of ours. What a request leaves
// is not read: `rpc-input` shows that refused calls change nothing.
import { randomInt } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { type ApiResponse, merchant, sharedMesh } from '../harness.ts'
import { documentedFields } from './documented.ts'
import { type Field, fieldsOf } from './fields.ts'
import { goodRoutes, type Route } from './requests.ts'
import { jsonValues, texts } from './values.ts'

const mesh = sharedMesh()
const { call } = merchant(mesh)
const width = 8
/** HOSTILE_SHARE=1 sends all values to each field, as a release does; without it, each run sends one in twenty of them, others each time, and one in a hundred to headers and forms. */
const share = Number(process.env['HOSTILE_SHARE'] ?? 20)
const offset = randomInt(share * 100)
/** As long as any test may take, for each twentieth of the values. */
const withinMs = 60_000 * Math.ceil(20 / share)

let routes: Map<string, Route>
beforeAll(async () => {
  routes = new Map((await goodRoutes(mesh)).map((route) => [route.name, route]))
})

/** What is wrong with an answer to a hostile request; nothing, when it is as it should be. */
function complaintAbout({ status, body, headers, text }: ApiResponse): string | undefined {
  const isJson = headers.get('content-type')?.startsWith('application/json')
  if (status >= 500 || !isJson || body['code'] !== status) return `${status} ${text.slice(0, 300)}`
  return undefined
}

/** The part of a field's values that this run sends. */
function sharedValues({ values, rarity }: Field, n: number): string[] {
  const part = share === 1 ? 1 : share * rarity
  return values.filter((_value, index) => (index + n + offset) % part === 0)
}

async function sweep(route: Route): Promise<{ calls: number; complaints: string[] }> {
  const complaints: string[] = []
  const cases = fieldsOf(route, await route.make()).flatMap((field, n) =>
    sharedValues(field, n).map((value) => ({ field, value })),
  )
  const left = cases.values()
  async function work(): Promise<void> {
    for (const { field, value } of left) {
      const request = await route.make()
      const sent = field.put(request, value)
      const problem = await call(request.method, request.path, sent).then(complaintAbout, String)
      if (problem !== undefined)
        complaints.push(`${field.path} = ${value.slice(0, 80)}: ${problem}`)
    }
  }
  await Promise.all(Array.from({ length: width }, work))
  return { calls: cases.length, complaints }
}

const names = [
  'POST /payments/request',
  'POST /payments/cancel',
  'GET /payments/status',
  'POST /account/account_session',
  'GET /account/account',
  'POST /account/personal_account',
  'POST /account/personal_account as a form',
  'POST /account/business_account',
  'POST /account/register_account',
  'GET /account/balance',
  'POST /account/transaction_history',
  'POST /institution/transaction',
  'POST /institution/transaction with lists',
  'GET /institution/transaction',
  'POST /institution/quote',
  'GET /institution/post',
  'GET /institution/transaction_history',
  'POST /quote',
  'GET /quote',
  'POST /bill_payments/pay',
  'GET /bill_payments/status',
  'GET /bill_payments/receipt',
  'GET /payments/list',
  'GET /payments/events',
  'POST /payments/refund',
  'GET /deliveries/list',
  'GET /deliveries/delivery',
  'POST /deliveries/resend',
]

describe(`hostile values (HOSTILE_SHARE=${share}, part ${offset})`, () => {
  it('hostile values are more than a hundred for each field', () => {
    expect(texts.length).toBeGreaterThan(100)
    expect(jsonValues.length).toBeGreaterThan(120)
    expect([...routes.keys()]).toEqual(names)
  })

  it('hostile values go into every documented field of every route', async () => {
    const swept = new Map<string, Set<string>>()
    for (const route of routes.values()) {
      const request = await route.make()
      const name = `${request.method} ${request.path}`
      const paths = fieldsOf(route, request).map(({ path }) => path.replaceAll(/\.\d+/g, '[]'))
      swept.set(name, new Set([...(swept.get(name) ?? []), ...paths]))
    }
    const missed = [...documentedFields()].flatMap(([name, fields]) =>
      [...fields].filter((one) => swept.get(name)?.has(one) !== true).map((one) => [name, one]),
    )
    expect(missed).toEqual([])
  })

  it.each(names)(
    'hostile values in %s are never an error of ours',
    async (name) => {
      const route = routes.get(name)
      if (route === undefined) throw new Error(`${name} has no good request`)
      const good = await route.make()
      const answer = await call(good.method, good.path, good.options)
      expect(answer.status, answer.text).toBeLessThan(300)
      const { calls, complaints } = await sweep(route)
      expect(complaints).toEqual([])
      expect(calls).toBeGreaterThan(5)
    },
    withinMs,
  )
})
