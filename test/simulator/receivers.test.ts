// Sends the receivers what merchants would be sent, and reads it back from their log.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '#platform/db/db.ts'
import { receiverQuotas } from '../../connectors/simulator/operations/receiver-quota.ts'
import {
  deleteOldFlaky,
  deleteOldReceived,
} from '../../connectors/simulator/store/receiver-store.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const post = (kind: string, tag: string, body = '{"a": 1}', headers = {}) =>
  fetch(`${harness.publicUrl}/receivers/${kind}/${tag}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    redirect: 'manual',
  })
type Logged = { path: string; headers: Record<string, string>; body: string; received_time: string }
const logOf = async (tag: string) => {
  const response = await fetch(`${harness.publicUrl}/receivers/log?tag=${encodeURIComponent(tag)}`)
  return ((await response.json()) as { requests: Logged[] }).requests
}

it.each([
  ['ok', 200, null],
  ['fail', 500, null],
  ['redirect', 302, '/receivers/ok/'],
  ['gone', 410, null],
])('the receiver %s answers %i and keeps the request', async (kind, status, target) => {
  const tag = randomUUID()
  const response = await post(kind, tag)
  const location = target === null ? null : `${target}${tag}`
  expect([response.status, response.headers.get('location')]).toEqual([status, location])
  expect(await logOf(tag)).toHaveLength(1)
})

it('the receiver slow answers after five seconds', async () => {
  const startedMs = Date.now()
  expect((await post('slow', randomUUID())).status).toBe(200)
  expect(Date.now() - startedMs).toBeGreaterThanOrEqual(4_990)
})

it('the receiver flaky accepts each body of a tag the third time', async () => {
  const tag = randomUUID()
  const statuses: number[] = []
  for (const body of ['one', 'one', 'two', 'one', 'two', 'two', 'one']) {
    statuses.push((await post('flaky', tag, body)).status)
  }
  expect(statuses).toEqual([500, 500, 500, 200, 500, 200, 200])
  expect((await post('flaky', randomUUID(), 'one')).status).toBe(500)
})

it('the log shows path, headers, raw body and time, newest last, and survives a restart', async () => {
  const tag = 'a tag/with–signs'
  const encoded = encodeURIComponent(tag)
  await post('ok', encoded, '{ "not" : json')
  await post('ok', encoded, 'caf\u00e9\u0000', { 'content-type': 'text/plain', 'X-Mine': 'yes' })
  await fetch(`${harness.publicUrl}/receivers/ok/${encoded}`, { method: 'POST' })
  await harness.restart()
  // A kept connection may have been closed under the first request.
  const [first, second, third, ...rest] = await eventually(() => logOf(tag))
  expect(rest).toEqual([])
  expect(first?.path).toBe(`/receivers/ok/${encoded}`)
  expect(first?.body).toBe('{ "not" : json')
  expect(first?.received_time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect([second?.body, second?.headers['x-mine'], third?.body]).toEqual(['café\u0000', 'yes', ''])
})

it('a receiver reads 256 KiB of a body and no more', async () => {
  const tag = randomUUID()
  expect((await post('ok', tag, 'x'.repeat(256 * 1024))).status).toBe(200)
  expect((await post('ok', tag, 'x'.repeat(256 * 1024 + 1))).status).toBe(413)
  expect(await logOf(tag)).toHaveLength(1)
})

it('an unknown receiver is 404, a log without a tag 400, an unknown tag an empty log', async () => {
  expect((await post('toString', 'tag')).status).toBe(404)
  expect((await post('ok', 'a%00b')).status).toBe(400)
  expect((await fetch(`${harness.publicUrl}/receivers/log`)).status).toBe(400)
  expect(await logOf(randomUUID())).toEqual([])
})

it('a local sandbox takes any tag of up to 128 characters', async () => {
  for (const tag of ['x', 'order', '€'.repeat(128)]) {
    expect((await post('ok', encodeURIComponent(tag), 'here')).status).toBe(200)
    expect((await logOf(tag)).map(({ body }) => body)).toEqual(['here'])
  }
  const long = 'x'.repeat(129)
  expect((await post('ok', long)).status).toBe(400)
  expect((await fetch(`${harness.publicUrl}/receivers/log?tag=${long}`)).status).toBe(400)
})

it('a log of many pages is whole, in order, and the answer is JSON', async () => {
  const tag = randomUUID()
  const bodies = Array.from({ length: 120 }, (_, index) =>
    index % 20 === 0 ? `${index}`.padEnd(100_000, '"\\\u0000é') : `${index}`,
  )
  for (const body of bodies) await post('ok', tag, body)
  const answer = await fetch(`${harness.publicUrl}/receivers/log?tag=${tag}`)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const { requests } = (await answer.json()) as { requests: Logged[] }
  expect(requests.map(({ body }) => body.length)).toEqual(bodies.map((body) => body.length))
  expect(requests.map(({ body }) => body)).toEqual(bodies)
})

const flakyStatement = sql(
  'test_flaky_counts',
  'select count(*)::integer as rows from flaky_count where tag = $1',
)

it('the log keeps the newest requests, for a day', async () => {
  const tag = randomUUID()
  for (const body of ['1', '2', '3']) await post('flaky', tag, body)
  const db = harness.database.open({ testClock: harness.testClock })
  const flaky = async () => (await db.row<{ rows: number }>(flakyStatement, [tag]))?.rows
  await deleteOldReceived(db, 1_000, { requests: 2, bytes: 1_000_000 })
  expect((await logOf(tag)).map(({ body }) => body)).toEqual(['2', '3'])
  expect(await flaky()).toBe(3)
  harness.testClock.advance(24 * 3_600_000 + 1)
  // The simulator itself may delete them first, so what counts is what is left.
  await deleteOldReceived(db, 1_000, receiverQuotas.total)
  await deleteOldFlaky(db, 1_000, 100_000)
  expect([await logOf(tag), await flaky()]).toEqual([[], 0])
})
