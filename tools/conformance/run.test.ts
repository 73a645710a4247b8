// Shows that the checks can fail, what is skipped where, and that nothing is created with a production key.
import type { RequestListener } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Target } from '../../clients/cli/api/target.ts'
import { serveHttp, type TestHttpServer } from '../../test/support/http-server.ts'
import { byPattern, checks } from './checks.ts'
import { type Result, runChecks } from './run.ts'

const received: { method: string; path: string; body: string }[] = []
/** Agrees to everything and keeps what it was sent. */
const answer: RequestListener = (request, response) => {
  let body = ''
  request.on('data', (part) => {
    body += String(part)
  })
  request.on('end', () => {
    received.push({ method: request.method ?? '', path: request.url ?? '', body })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"success"}')
  })
}
let server: TestHttpServer
let baseUrl = ''

beforeAll(async () => {
  server = await serveHttp(answer)
  baseUrl = server.baseUrl
})
afterAll(() => server.close())

const keys = (prefix: string) => ({ subscriptionKey: `${prefix}key`, apiKey: 'api-key' })
const options = { atOnce: 16, ratePerS: 0, signal: new AbortController().signal }
const namesOf = (results: Result[], wanted: Result['result']) =>
  results.filter(({ result }) => result === wanted).map(({ name }) => name)

it('there are at least 120 checks, each with a name of its own and a rule in a sentence', () => {
  expect(checks.length).toBeGreaterThanOrEqual(120)
  expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length)
  for (const { name, rule } of checks) {
    expect(name).toMatch(/^[a-z]+(\/[a-z0-9_-]+)+$/)
    expect(rule, name).toMatch(/^.{15,}\.$/s)
  }
})

it('a pattern chooses by a part of the name, with stars', () => {
  expect(byPattern(checks, 'routes/*/version').length).toBe(11)
  expect(byPattern(checks, 'bills/silent-0504').map(({ name }) => name)).toEqual([
    'bills/silent-0504',
  ])
  expect(byPattern(checks, 'no.such')).toEqual([])
})

it('no check passes where everything is answered with yes, but those that ask for just that', async () => {
  const project = keys('pwk_test_')
  const target: Target = {
    baseUrl,
    simulatorUrl: baseUrl,
    projects: { demo: project, other: project, payments_only: project, ip_restricted: project },
    institution: { keyId: '0a0b0c0d', sharedKey: 'A'.repeat(44), signingSecret: 'secret' },
    foreignKey: 'pwk_live_key',
    readOnly: false,
  }
  const results = await runChecks(target, checks, options)
  expect(namesOf(results, 'passed').toSorted()).toEqual(['documents/livez', 'documents/readyz'])
  expect(namesOf(results, 'skipped')).toEqual([])
}, 60_000)

it('without the credentials of a sandbox the checks that need them are skipped, and say so', async () => {
  const target = { baseUrl, projects: { demo: keys('pwk_test_') }, readOnly: false }
  const results = await runChecks(target, byPattern(checks, 'accounts/'), options)
  expect(namesOf(results, 'skipped')).toHaveLength(results.length)
  expect(results[0]?.reason).toContain('--sandbox')
})

it('with a production key nothing is sent that could make something', async () => {
  received.length = 0
  const target = { baseUrl, projects: { demo: keys('pwk_live_') }, readOnly: true }
  const results = await runChecks(target, checks, options)
  expect(namesOf(results, 'failed').length).toBeGreaterThan(20)
  expect(received.length).toBeGreaterThan(50)
  const posted = received.filter(({ method }) => method === 'POST').map(({ body }) => body)
  expect(posted.filter((body) => body.includes('api-key'))).toEqual([])
  expect(received.map(({ path }) => path).join()).not.toMatch(/request\?.*transaction/)
}, 60_000)
