// Tests the deprecation headers of responses in a contract version that ends.
import { afterEach, expect, it } from 'vitest'
import {
  call,
  type EdgeFixture,
  goodHeaders,
  goodPayment,
  parseRaw,
  sendRaw,
  startEdge,
} from './harness.ts'

let edge: EdgeFixture
afterEach(() => edge.close())

const create = (body: unknown) =>
  call(edge.url, 'POST', '/payments/request?version=2024-10-01', { body })
const noticeOf = (headers: Headers) =>
  ['deprecation', 'sunset', 'link'].map((name) => headers.get(name))

it('nothing is announced unless it is set', async () => {
  edge = await startEdge()
  expect(noticeOf((await create(goodPayment())).headers)).toEqual([null, null, null])
})

const notice = {
  deprecation: new Date('2027-07-01T00:00:00Z'),
  sunset: new Date('2029-07-01T00:00:00Z'),
  link: 'https://example.com/changes',
}
const wanted = [
  '@1814400000',
  'Sun, 01 Jul 2029 00:00:00 GMT',
  '<https://example.com/changes>; rel="deprecation"; type="text/html"',
]

it('answers of a version that ends say since when, until when and where to read on', async () => {
  edge = await startEdge({ versionNotices: { '2024-10-01': notice } })
  const done = await create(goodPayment())
  expect([done.status, noticeOf(done.headers)]).toEqual([200, wanted])
  const refused = await create({})
  expect([refused.status, noticeOf(refused.headers)]).toEqual([400, wanted])
  const bill = await call(edge.url, 'GET', '/bill_payments/status?version=2026-07-01', {
    headers: goodHeaders(),
  })
  expect(noticeOf(bill.headers)).toEqual([null, null, null])
})

it('refusals before routing have the version notice too', async () => {
  edge = await startEdge({ versionNotices: { '2024-10-01': notice } })
  const path = '/payments/request?version=2024-10-01'
  const text = goodHeaders({ 'content-type': 'text/plain' })
  const unread = [
    [400, create('{')],
    [405, call(edge.url, 'GET', path)],
    [413, create({ ...goodPayment(), more: 'x'.repeat(70_000) })],
    [415, call(edge.url, 'POST', path, { headers: text, body: '{}' })],
  ] as const
  for (const [status, answer] of unread) {
    const { status: received, headers } = await answer
    expect([received, noticeOf(headers)]).toEqual([status, wanted])
  }
  const expects = `POST ${path} HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 0\r\n\r\n`
  const below = parseRaw(await sendRaw(edge.port, expects))
  expect([below.status, noticeOf(below.headers)]).toEqual([417, wanted])
})
