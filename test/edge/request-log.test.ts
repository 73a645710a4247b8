// What the log and the metrics show of requests, with a key and without.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { apiKey, call, type EdgeFixture, goodHeaders, keys, sendRaw, startEdge } from './harness.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => {
  edge.lines.length = 0
})

const target = `/payments/status?version=2024-10-01&api_key=${apiKey}&payment_details_id=x`

function raw(line: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ Host: 'localhost', ...headers })
  return `${line} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

/** Sends a request `times` times on one connection. */
const flood = (bytes: string, times: number) =>
  sendRaw(edge.port, bytes.repeat(times) + raw('GET /livez', { Connection: 'close' }))

async function refusals(reason: string): Promise<number> {
  const pattern = new RegExp(
    `^payweave_http_unknown_refusals_total{reason="${reason}"} (\\d+)$`,
    'm',
  )
  return Number(pattern.exec(await edge.metrics())?.[1] ?? 0)
}

describe('a flood of requests without a project', () => {
  const status = `GET ${target}`
  const times = 500
  it.each([
    ['ENDPOINT_NOT_FOUND', raw('GET /nowhere')],
    ['METHOD_NOT_ALLOWED', raw(`DELETE ${target}`)],
    ['INVALID_HEADER', raw(status)],
    [
      'PW_INVALID_SUBSCRIPTION_KEY',
      raw(status, goodHeaders({ 'PW-subscription-key': keys.unknown })),
    ],
  ])(
    'a flood of requests without a project is counted as %s and logged as a sample',
    async (reason, bytes) => {
      const before = await refusals(reason)
      const beginMs = performance.now()
      await flood(bytes, times)
      await eventually(async () => expect(await refusals(reason)).toBe(before + times))
      const ofReason = () => edge.lines.filter((line) => line['reason'] === reason)
      // The first, and one for each second of the flood.
      expect(ofReason().length).toBeLessThanOrEqual(2 + (performance.now() - beginMs) / 1_000)
      const accounted = () =>
        ofReason().reduce((sum, line) => sum + 1 + Number(line['leftOut'] ?? 0), 0)
      await eventually(() => expect(accounted()).toBe(times))
      expect(ofReason()[0]?.['requestId']).toMatch(/^[0-9a-f-]{36}$/)
    },
  )

  it('a flood of requests without a project is counted and sampled below the router too', async () => {
    const before = await refusals('EXPECTATION_FAILED')
    const bytes = raw(status, { Expect: 'a-miracle', Connection: 'close' })
    await Promise.all(Array.from({ length: 50 }, () => sendRaw(edge.port, bytes)))
    expect(await refusals('EXPECTATION_FAILED')).toBe(before + 50)
    expect(edge.lines.length).toBeLessThan(50)
  })

  it('a flood of requests without a project is a sample of successes too', async () => {
    await flood(raw('GET /livez'), times)
    const lines = edge.lines.filter((line) => line['route'] === '/livez')
    expect(lines.length).toBeLessThan(times)
  })
})

it('each request of a known project is a line, refused or not', async () => {
  for (let index = 0; index < 20; index += 1) await call(edge.url, 'GET', target)
  const ofProjects = () => edge.lines.filter(({ projectId }) => projectId !== undefined)
  await eventually(() => expect(ofProjects().length).toBe(20))
  for (const line of ofProjects()) {
    expect(line).toMatchObject({ route: '/payments/status', reason: 'PAYMENT_NOT_FOUND' })
    expect(line['projectId']).toMatch(/^[0-9a-f-]{36}$/)
  }
})
