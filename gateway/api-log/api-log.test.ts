// Tests the memory before the API log: batches, what happens while delivery does not answer, and the limits.
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { type Logged, loggedRequests } from '../../test/edge/stand-ins/logged-requests.ts'
import { eventually } from '../../test/support/eventually.ts'
import { routeRows } from '../http/app.ts'
import { startApiLog } from './api-log.ts'
import type { FinishedRequest } from './finished-request.ts'

const requestOf = (changes: Partial<FinishedRequest> = {}): FinishedRequest => ({
  route: 'POST /quote',
  projectId: randomUUID(),
  merchantId: undefined,
  requestId: randomUUID(),
  status: 200,
  reason: undefined,
  field: undefined,
  durationMs: 1.4,
  clientLeft: false,
  idempotencyKey: undefined,
  query: { version: '2024-10-01' },
  body: { request_amount: '10.00', session_token: 'secret' },
  requestBytes: 100,
  response: '{"status":"success","code":200}',
  ...changes,
})

const projects = [randomUUID(), randomUUID()] as [string, string]

/** A log whose delivery answers as `answer` says. */
function start(answer: () => Promise<void> = () => Promise.resolve()) {
  const metrics = new Registry()
  const batches: Logged[][] = []
  const log = startApiLog({
    delivery: {
      recordRequests: async (call) => {
        batches.push(loggedRequests(call))
        await answer()
        return { $typeName: 'payweave.delivery.v1.RecordRequestsResponse' }
      },
    },
    rows: routeRows,
    log: createLogger({ part: 'gateway', level: 'silent' }),
    metrics,
  })
  const count = async (outcome: string) => {
    const { values = [] } =
      (await metrics.getSingleMetric('payweave_api_log_requests_total')?.get()) ?? {}
    return values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? 0
  }
  return { log, batches, count }
}

describe('the API log', () => {
  it('a request is sent masked, with its route and its facts', async () => {
    const { log, batches } = start()
    const request = requestOf({
      status: 409,
      reason: 'IDEMPOTENCY_KEY_CONFLICT',
      idempotencyKey: 'order-20261123',
      response: 'not JSON',
      clientLeft: true,
    })
    log.add(request)
    await log.close()
    expect(batches).toMatchObject([
      [
        {
          projectId: request.projectId,
          requestId: request.requestId,
          route: 'POST /quote',
          version: '2024-10-01',
          status: 409,
          errorCode: 'IDEMPOTENCY_KEY_CONFLICT',
          durationMs: 1,
          clientLeft: true,
          idempotencyKey: 'order-***1123',
          query: '{"version":"2024-10-01"}',
          requestBody: '{"request_amount":"10.00","session_token":"[6 characters]"}',
          responseBody: '',
        },
      ],
    ])
  })

  it('the contents of a batch are by project, in the order of its requests', async () => {
    const { log, batches } = start()
    const requests = [1, 2, 3, 4].map((n) =>
      requestOf({ projectId: projects[n % 2], body: { request_amount: `${n}.00` } }),
    )
    for (const request of requests) log.add(request)
    await log.close()
    const [batch = []] = batches
    expect(batch.map(({ projectId, requestBody }) => [projectId, requestBody])).toEqual(
      requests.map(({ projectId }, at) => [projectId, `{"request_amount":"${at + 1}.00"}`]),
    )
  })

  it('a full batch is sent at once, and a close sends the rest', async () => {
    const { log, batches, count } = start()
    for (let n = 0; n < 530; n += 1) log.add(requestOf())
    await eventually(async () => expect(await count('stored')).toBe(500))
    await log.close()
    expect(batches.map(({ length }) => length)).toEqual([500, 30])
    expect(await count('stored')).toBe(530)
  })

  it('a batch of long texts is sent before it is full', async () => {
    const { log, batches } = start()
    const payment = { payment_details_id: randomUUID(), transaction_id: 'order-1', amount: '1.00' }
    const payments = Array.from({ length: 20 }, () => ({ ...payment, description: '', paid: '' }))
    const list = { route: 'GET /payments/list', response: JSON.stringify({ payments }) }
    for (let n = 0; n < 499; n += 1) log.add(requestOf({ ...list, body: undefined }))
    await log.close()
    expect(batches.length).toBeGreaterThan(1)
    const sizes = batches.map((batch) =>
      batch.map(({ responseBody = '' }) => responseBody).join(''),
    )
    for (const { length } of sizes) expect(length).toBeLessThan(600_000)
    expect(batches.flat()).toHaveLength(499)
  })

  it('a batch that was not answered is sent again, with the same ids', async () => {
    let isDown = true
    const { log, batches, count } = start(() =>
      isDown ? Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'down')) : Promise.resolve(),
    )
    for (let n = 0; n < 500; n += 1) log.add(requestOf())
    await eventually(() => expect(batches.length).toBeGreaterThan(0))
    isDown = false
    await log.close()
    const ids = new Set(batches.flat().map(({ entryId }) => entryId))
    expect([ids.size, await count('stored')]).toEqual([500, 500])
  })

  it('a batch that delivery refuses is dropped and counted', async () => {
    const { log, count } = start(() => Promise.reject(new Failure('INVALID_PARAMETER', 'no')))
    log.add(requestOf())
    await log.close()
    expect([await count('refused'), await count('stored')]).toEqual([1, 0])
  })

  it('while delivery does not answer the oldest are dropped and counted, by number and by size', async () => {
    const down = () => Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'down'))
    const many = start(down)
    const large = start(down)
    const wide = start(down)
    for (let n = 0; n < 5_000; n += 1) many.log.add(requestOf())
    for (let n = 0; n < 100; n += 1) large.log.add(requestOf({ response: 'x'.repeat(1_048_576) }))
    for (let n = 0; n < 100; n += 1) wide.log.add(requestOf({ requestBytes: 65_536 }))
    expect(await many.count('dropped')).toBe(5_000 - 4_096)
    expect(await wide.count('dropped')).toBe(100 - 63)
    expect(await large.count('dropped')).toBe(100 - 15)
    await Promise.all([many, large, wide].map((one) => one.log.close()))
  })
})
