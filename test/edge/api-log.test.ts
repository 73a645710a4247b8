// What the gateway adds to the API log of each route: its facts, and nothing of what it must not keep.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createLogger } from '#platform/telemetry/log.ts'
import { startApiLog } from '../../gateway/api-log/api-log.ts'
import { routeRows } from '../../gateway/http/app.ts'
import { eventually } from '../support/eventually.ts'
import { apiKey, call, type EdgeFixture, keys, merchantId, startEdge } from './harness.ts'
import type { GoodRequest } from './stand-ins/good-request.ts'
import { type Draft, draftOf, goodRequests, targetOf } from './stand-ins/good-requests.ts'
import { type Logged, loggedRequests } from './stand-ins/logged-requests.ts'

let edge: EdgeFixture
const records: Logged[] = []
/** What was counted of each request, by its id. */
const requestBytes = new Map<string, number>()
const log = startApiLog({
  delivery: {
    recordRequests: (batch) => {
      records.push(...loggedRequests(batch))
      return Promise.resolve({ $typeName: 'payweave.delivery.v1.RecordRequestsResponse' })
    },
  },
  rows: routeRows,
  log: createLogger({ part: 'gateway', level: 'silent' }),
  metrics: new Registry(),
  pauseMs: 5,
})
beforeAll(async () => {
  const add: typeof log.add = (request) => {
    requestBytes.set(request.requestId, request.requestBytes)
    log.add(request)
  }
  edge = await startEdge({}, { apiLog: { ...log, add } })
})
beforeEach(() => void records.splice(0))
afterAll(async () => {
  await edge.close()
  await log.close()
})

/** Sends a request, and waits until it is in the log. */
async function logged(good: GoodRequest, change: (draft: Draft) => void = () => undefined) {
  const draft = draftOf(good)
  const requestId = randomUUID()
  draft.headers['PW-request-id'] = requestId
  change(draft)
  const { method, headers, body } = draft
  const answer = await call(edge.url, method, targetOf(draft), { headers, body })
  const find = () => records.find((one) => one.requestId === answer.headers.get('pw-request-id'))
  await eventually(() => expect(find()).toBeDefined())
  return { answer, record: find() ?? {} }
}

const named = (good: GoodRequest) => [`${good.method} ${good.path}`, good] as const

/** What the good requests and the stand-ins' answers have of people and of secrets. */
const personal =
  /\+1202|\+1868|Ama|Mensah|@example|pws_|token-0123|Demo Store|AQID|example\.com|203\.0\.113/

it.each(goodRequests.map(named))('%s is in the log, masked', async (route, good) => {
  const { answer, record } = await logged(good)
  const usesKey = good.credential === 'api_key'
  expect(record).toMatchObject({
    route,
    version: good.version,
    status: answer.status,
    errorCode: '',
    clientLeft: false,
    merchantId: usesKey ? merchantId : '',
    projectId: '0198c000-0000-7000-8000-000000000001',
    query: expect.stringContaining(`"version":"${good.version}"`),
    idempotencyKey: good.headers?.['Idempotency-Key'] ?? '',
  })
  expect(JSON.parse(record.responseBody ?? '')).toMatchObject({ status: 'success' })
  expect(record.requestBody === '').toBe(good.body === undefined)
  const all = JSON.stringify(record)
  expect(all).not.toMatch(personal)
  for (const secret of [apiKey, keys.demo]) expect(all).not.toContain(secret)
})

const [payment] = goodRequests
const failing = (change: (draft: Draft) => void) => logged(payment as GoodRequest, change)

it('a refusal is in the log with its code and its words', async () => {
  const { record } = await failing((draft) => {
    draft.query['version'] = '2023-01-01'
  })
  expect(record).toMatchObject({ status: 400, errorCode: 'VERSION_NOT_SUPPORTED' })
  expect(JSON.parse(record.responseBody ?? '')).toMatchObject({
    message: 'version must be exactly 2024-10-01.',
  })
})

it('a request that is refused before its key is looked up is in the log of the key\u2019s project', async () => {
  await failing(() => undefined)
  const { record } = await failing((draft) => {
    delete draft.headers['PW-ip-address']
  })
  expect(record).toMatchObject({ status: 400, errorCode: 'INVALID_HEADER', merchantId: '' })
})

it('a request with an unknown key, or to an unknown path, is in no log', async () => {
  const draft = draftOf(payment as GoodRequest)
  const headers = { ...draft.headers, 'PW-subscription-key': keys.unknown }
  const { body } = draft
  const unknown = await call(edge.url, 'POST', targetOf(draft), { headers, body })
  await call(edge.url, 'POST', '/nowhere', { headers: draft.headers, body })
  await failing(() => undefined)
  expect(unknown.status).toBe(401)
  expect(records).toHaveLength(1)
})

/** Sends the headers of a request, with the body in chunks, and returns the id of its answer. */
async function sent(headers: Record<string, string>, body = ''): Promise<string> {
  const draft = draftOf(payment as GoodRequest)
  const request = http.request(`${edge.url}${targetOf(draft)}`, {
    method: 'POST',
    headers: { ...draft.headers, 'content-type': 'application/json', ...headers },
  })
  request.on('error', () => undefined)
  request.flushHeaders()
  if (body !== '') request.end(body)
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  answer.resume()
  request.destroy()
  return String(answer.headers['pw-request-id'])
}

it('a length that a client claims pushes nothing out of the log', async () => {
  await failing(() => undefined)
  const id = await sent({ 'content-length': '30000000' })
  await eventually(() => expect(records.map(({ requestId }) => requestId)).toContain(id))
  expect(requestBytes.get(id)).toBeLessThan(200)
})

it('a body without a length counts with what was read', async () => {
  await failing(() => undefined)
  const id = await sent({}, JSON.stringify({ filling: 'x'.repeat(10_000) }))
  await eventually(() => expect(requestBytes.get(id)).toBeGreaterThan(10_000))
})
