// Valid JSON with hostile values at every place of every body: never a 500, and numbers that overflow are refused.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, type EdgeFixture, startEdge } from './harness.ts'
import type { GoodRequest } from './stand-ins/good-request.ts'
import { draftOf, goodRequests, refusedAs, shapeOf, targetOf } from './stand-ins/good-requests.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())

/** Numbers that overflow to infinity, as JSON allows them to be written. */
const tooLarge = ['1e400', '-1e400', '1E+0400', '1.5e309', '9'.repeat(400), `${'9'.repeat(300)}e9`]
const other = [
  '-0',
  '1e-400',
  '1.7976931348623157e308',
  '0.1e1',
  'true',
  'null',
  '[]',
  '{}',
  '[null]',
  '[[[]]]',
  '{"":{}}',
  '{"__proto__":null}',
  '{"__proto__":{"toString":1}}',
  '{"constructor":{"prototype":1}}',
  '{"toJSON":1}',
  '{"a":1,"a":-0,"a":"2"}',
  '"\\ud83d\\ude00"',
  '"__proto__"',
]

const withBody = goodRequests.filter(({ body }) => body !== undefined)

/** Each place of a body, as its path and the body's text with a mark there. */
function placesOf(body: unknown): Array<{ path: string; text: string }> {
  const places: Array<{ path: string; text: string }> = []
  const mark = '\u0001'
  const at = (path: string, put: (value: unknown) => unknown) =>
    places.push({ path, text: JSON.stringify(put(mark)).replace(JSON.stringify(mark), mark) })
  const walk = (value: unknown, path: string, put: (value: unknown) => unknown): void => {
    if (path !== '') at(path, put)
    if (Array.isArray(value)) {
      value.forEach((item, index) =>
        walk(item, `${path}[${index}]`, (inner) => put(value.with(index, inner))),
      )
    } else if (typeof value === 'object' && value !== null) {
      const join = (name: string) => (path === '' ? name : `${path}.${name}`)
      at(join('unknown'), (inner) => put({ ...value, unknown: inner }))
      for (const [name, item] of Object.entries(value)) {
        walk(item, join(name), (inner) => put({ ...value, [name]: inner }))
      }
    }
  }
  walk(body, '', (value) => value)
  return places.map(({ path, text }) => ({ path, text: text.replace(mark, '%') }))
}

describe.each(withBody)('a body of $method $path', (good: GoodRequest) => {
  const send = (body: string) => {
    const { method, headers } = draftOf(good)
    return call(edge.url, method, targetOf(draftOf(good)), { headers, body })
  }
  // Where a route takes any JSON at all, there too.
  const takesAny = ['/quote', '/bill_payments/pay'].includes(good.path)
  const places = placesOf({ ...good.body, ...(takesAny && { metadata: { list: [1] } }) })

  it(`a body of ${good.method} ${good.path} is refused with a number that overflows, in any field`, async () => {
    for (const { path, text } of places) {
      for (const number of tooLarge) {
        const seen = await send(text.replace('%', number))
        expect(shapeOf(seen), path).toEqual(refusedAs(good.errors, 400, 'INVALID_PARAMETER'))
        expect(seen.body['message']).toContain(path)
      }
      if (!/unknown|metadata/.test(path)) continue
      const nested = await send(text.replace('%', '{"list":[1,{"deep":1e400}]}'))
      expect(shapeOf(nested), path).toEqual(refusedAs(good.errors, 400, 'INVALID_PARAMETER'))
    }
  })

  it(`a body of ${good.method} ${good.path} never leads to a 500`, async () => {
    for (const { path, text } of places) {
      for (const value of other) {
        const { status } = await send(text.replace('%', value))
        expect(status, `${path} ${value}`).toBeLessThan(500)
      }
    }
  })
})
