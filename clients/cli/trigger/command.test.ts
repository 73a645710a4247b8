// Shows what a trigger prints, and that no key is in it; a server of the test stands for the gateway.
import type { RequestListener } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serveHttp, type TestHttpServer } from '../../../test/support/http-server.ts'
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

async function payweave(...words: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { PAYWEAVE_SUBSCRIPTION_KEY: 'pwk_test_for-nobody', PAYWEAVE_API_KEY: 'secret-key' }
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

it('the requests are printed for a shell, with the keys masked, and then the outcome', async () => {
  const { code, out, err } = await payweave('trigger', 'payment.cancelled', '--base-url', baseUrl)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const lines = out.split('\n').filter((line) => line.startsWith('curl '))
  expect(lines).toHaveLength(2)
  expect(lines[0]).toContain(`-X POST '${baseUrl}/payments/request?version=2024-10-01'`)
  expect(lines[0]).toContain("-H 'PW-subscription-key: pwk_test_********'")
  expect(lines[0]).toContain('"api_key":"********"')
  expect(out).toContain('"payment_details_id": "payment-1"')
  expect(out).not.toMatch(/for-nobody|secret-key/)
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
