// Every field of every route with hostile values: each answer is a documented one, none is an error of ours, and what is refused leaves nothing.
import { randomInt } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type CallOptions, type Json, merchant, sharedMesh } from '../harness.ts'
import { type GoodRequest, goodRoutes, type Route } from './requests.ts'
import { jsonValues, texts } from './values.ts'

const mesh = sharedMesh()
const { call } = merchant(mesh)
const width = 8
/** HOSTILE_SHARE=1 sends all values to each field, as a release does; without it, each run sends one in twenty of them, others each time. */
const share = Number(process.env['HOSTILE_SHARE'] ?? 20)
const offset = randomInt(share)
/** As long as any test may take, for each twentieth of the values. */
const withinMs = 60_000 * Math.ceil(20 / share)

let routes: Map<string, Route>
beforeAll(async () => {
  routes = new Map((await goodRoutes(mesh)).map((route) => [route.name, route]))
})

/** One field, by its path, and how a request gets a hostile value there. */
type Field = {
  path: string
  values: readonly string[]
  put: (request: GoodRequest, value: string) => CallOptions
}

const mark = '\u0001hostile\u0001'

/** The fields of a request: its query parameters, its headers and each place of its body. */
function fieldsOf({ options }: GoodRequest): Field[] {
  const query = Object.keys(options.query ?? {}).map((name) => ({
    path: `?${name}`,
    values: texts,
    put: (request: GoodRequest, value: string) => ({
      ...request.options,
      query: { ...request.options.query, [name]: value },
    }),
  }))
  const body = placesOf(options.body, []).map((place) => ({
    path: place.join('.'),
    values: jsonValues,
    put: (request: GoodRequest, value: string) => ({
      ...request.options,
      body: JSON.stringify(withMark(request.options.body, place)).replace(
        JSON.stringify(mark),
        () => value,
      ),
    }),
  }))
  return [...query, ...body]
}

/** The path of every value inside a body, objects and lists too. */
function placesOf(value: unknown, at: string[]): string[][] {
  const inside =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, item]) => placesOf(item, [...at, name]))
      : []
  return at.length === 0 ? inside : [at, ...inside]
}

function withMark(value: unknown, [name, ...rest]: string[]): unknown {
  if (name === undefined) return mark
  if (Array.isArray(value)) return value.with(Number(name), withMark(value[Number(name)], rest))
  const object = value as Json
  return { ...object, [name]: withMark(object[name], rest) }
}

/** What is wrong with an answer to a hostile request; nothing, when it is as it should be. */
function complaintAbout({ status, body, headers, text }: Answer): string | undefined {
  const isJson = headers.get('content-type')?.startsWith('application/json')
  if (status >= 500 || !isJson || body['code'] !== status) return `${status} ${text.slice(0, 300)}`
  return undefined
}

async function sweep(route: Route): Promise<{ calls: number; complaints: string[] }> {
  const complaints: string[] = []
  const cases = fieldsOf(await route.make()).flatMap((field, n) =>
    field.values
      .filter((_value, index) => (index + n) % share === offset)
      .map((value) => ({ field, value })),
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
  'POST /account/business_account',
  'POST /account/register_account',
  'GET /account/balance',
  'POST /account/transaction_history',
  'POST /institution/transaction',
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
