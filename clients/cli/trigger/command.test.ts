// Shows what a trigger prints, that no key is in it, and that it can be pasted; a server of the test stands for the gateway.
import { execFileSync } from 'node:child_process'
import type { RequestListener } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serveHttp, type TestHttpServer } from '../../../test/support/http-server.ts'
import { curlLine } from '../api/masked.ts'
import { runCommandLine } from '../main.ts'
import { triggers } from './command.ts'

const status = 'Cancelled'
const answer: RequestListener = (request, response) => {
  const details = { id: 'payment-1', status, payers: [{ url: 'http://127.0.0.1/pay/x', status }] }
  const body = { status: 'success', code: 200, payment_details: details, payers: [{ status }] }
  request.resume().on('end', () => {
    response.writeHead(request.url?.startsWith('/readyz') ? 404 : 200)
    response.end(JSON.stringify(body))
  })
}
let server: TestHttpServer
let baseUrl = ''

beforeAll(async () => {
  server = await serveHttp(answer)
  baseUrl = server.baseUrl
})
afterAll(() => server.close())

const env = { PAYWEAVE_SUBSCRIPTION_KEY: 'pwk_test_for-nobody', PAYWEAVE_API_KEY: 'secret-key' }

async function payweave(...words: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await runCommandLine(words, { env, stdout, stderr })
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') }
}

it('every outcome has a name of its own and a sentence', () => {
  expect(triggers.length).toBeGreaterThan(60)
  expect(new Set(triggers.map(({ name }) => name)).size).toBe(triggers.length)
  for (const { name, summary } of triggers) {
    expect(name).toMatch(/^[a-z]+\.[a-z0-9-]+$/)
    expect(summary, name).toMatch(/\.$/)
  }
})

it('the requests are printed for a shell, with variables for the keys, and then the outcome', async () => {
  const { code, out, err } = await payweave('trigger', 'payment.cancelled', '--base-url', baseUrl)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const lines = out.split('\n').filter((line) => line.startsWith('curl '))
  expect(lines).toHaveLength(2)
  expect(lines[0]).toContain(`-X POST '${baseUrl}/payments/request?version=2024-10-01'`)
  expect(out).toContain('"payment_details_id": "payment-1"')
  expect(out).not.toMatch(/for-nobody|secret-key/)
  // Pasted, it is the same request.
  const script = `curl() { for argument; do printf '%s\\0' "$argument"; done; }\n${lines[0]}`
  const pasted = execFileSync('/bin/sh', ['-euc', script], { encoding: 'utf8', env }).split('\0')
  expect(pasted).toContain(`PW-subscription-key: ${env.PAYWEAVE_SUBSCRIPTION_KEY}`)
  const body = JSON.parse(pasted[pasted.indexOf('-d') + 1] ?? '') as object
  expect(body).toMatchObject({ api_key: env.PAYWEAVE_API_KEY, transaction_request: {} })
})

it('a command to paste names the variables of the sandbox, and those that a response gives', () => {
  const line = curlLine(
    {
      method: 'GET',
      url: 'http://127.0.0.1/payments/status?api_key=it%27s-secret&id=1',
      headers: { 'PW-subscription-key': 'k1' },
      body: '{"session_token":"pws_1","name":"Ama\\u0027s"}',
    },
    new Map([
      ["it's-secret", 'PROJECTS_DEMO_API_KEY'],
      ['k1', 'PROJECTS_DEMO_SUBSCRIPTION_KEY'],
    ]),
  )
  expect(line).toBe(
    `curl -sS 'http://127.0.0.1/payments/status?api_key='"$PROJECTS_DEMO_API_KEY"'&id=1'` +
      ` -H 'PW-subscription-key: '"$PROJECTS_DEMO_SUBSCRIPTION_KEY"` +
      ` -d '{"session_token":"'"$SESSION_TOKEN"'","name":"Ama'\\''s"}'`,
  )
})

it('an unexpected outcome of a trigger exits with 1, as JSON too', async () => {
  const words = ['--base-url', baseUrl, '--within', '1', '--json']
  const { code, err } = await payweave('trigger', 'payment.paid', ...words)
  expect([code, err]).toEqual([1, 'payweave: payment paid: not within 1 s\n'])
})

it.each([
  ['no outcome', []],
  ['an unknown outcome', ['payment.lost']],
  ['an outcome that needs a receiver', ['push.ok']],
])('a wrong use of the command is refused: %s', async (_title, words) => {
  expect((await payweave('trigger', ...words, '--base-url', baseUrl)).code).toBe(2)
})
