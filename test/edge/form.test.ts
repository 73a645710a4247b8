// POST /account/personal_account as a form: read only after the permission, within its limits, and never a 500.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  call,
  type EdgeFixture,
  goodHeaders,
  keys,
  parseRaw,
  sendRaw,
  startEdge,
} from './fixture.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge({ requestTimeoutMs: 10_000 })
})
afterAll(() => edge.close())

const target = '/account/personal_account?version=2024-10-01'
const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(1_000)])
const mebibyte = 1024 * 1024

function form(
  files: Record<string, Buffer<ArrayBuffer>> = {},
  more: Record<string, string> = {},
): FormData {
  const data = new FormData()
  const fields = {
    first_name: 'Ama',
    last_name: 'Mensah',
    email: 'ama@example.com',
    mobile_number: '+12025550100',
    institution_name: 'Demo Wallet',
    dob: '1990-01-01',
    ...more,
  }
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  for (const [name, content] of Object.entries(files)) {
    data.append(name, new Blob([content]), `${name}.jpg`)
  }
  return data
}

const send = (body: FormData, headers = goodHeaders()) =>
  call(edge.url, 'POST', target, { headers, body })

/** Sends these bytes as the body, with a content type that declares the boundary `b`. */
async function sendBody(body: string, type = 'multipart/form-data; boundary=b') {
  const headers = { Host: 'localhost', ...goodHeaders(), Connection: 'close', 'Content-Type': type }
  const lines = Object.entries({ ...headers, 'Content-Length': String(body.length) })
  const head = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')
  return parseRaw(await sendRaw(edge.port, `POST ${target} HTTP/1.1\r\n${head}\r\n\r\n${body}`))
}

const part = (name: string, value: string, more = '') =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`

describe('a form', () => {
  it('with its fields and artefacts reaches the operation', async () => {
    const files = { selfie: jpeg, poa_file: Buffer.from('%PDF-1.7 x'), other: Buffer.from('text') }
    const seen = await send(form(files))
    expect(seen.body).toMatchObject({ code: 503, errorCode: 'SERVICE_UNAVAILABLE' })
  })

  it('is checked like JSON', async () => {
    const both = await send(form({}, { callback_url: 'https://example.com/x' }))
    expect(both.body['message']).toBe('authorisation_token is required.')
    const missing = form()
    missing.delete('email')
    expect((await send(missing)).body['message']).toBe('email is required.')
    const nul = await send(form({}, { occupation: 'a\u0000b' }))
    expect(nul.body['message']).toBe('occupation must not contain U+0000.')
    const twice = form()
    twice.append('email', 'kofi@example.com')
    expect((await send(twice)).body['errorCode']).toBe('INVALID_PARAMETER')
  })

  it('is refused when an artefact is of another kind than its name says', async () => {
    const seen = await send(form({ id_document1_file: Buffer.from('MZ not a picture') }))
    expect(seen.body).toMatchObject({ code: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE' })
    expect((await send(form({ selfie: Buffer.alloc(0) }))).status).toBe(415)
  })

  it('may have 10 MiB a file and 25 MiB in all', async () => {
    const big = Buffer.concat([jpeg, Buffer.alloc(9 * mebibyte)])
    expect((await send(form({ selfie: big }))).status).toBe(503)
    const tooBig = await send(form({ selfie: Buffer.concat([jpeg, Buffer.alloc(10 * mebibyte)]) }))
    expect(tooBig.body).toMatchObject({ code: 413, errorCode: 'PAYLOAD_TOO_LARGE' })
    const files = { id_document1_file: big, id_document2_file: big, poa_file: big }
    expect((await send(form(files))).body['errorCode']).toBe('PAYLOAD_TOO_LARGE')
    const long = await send(form({}, { occupation: 'x'.repeat(70_000) }))
    expect(long.body['errorCode']).toBe('PAYLOAD_TOO_LARGE')
  })

  it('is read only when the project may use the route', async () => {
    const files = { selfie: Buffer.alloc(26 * mebibyte) }
    for (const [key, code] of [
      [keys.unknown, 401],
      [keys.paymentsOnly, 403],
    ] as const) {
      const seen = await send(form(files), goodHeaders({ 'PW-subscription-key': key }))
      expect(seen.status).toBe(code)
    }
  })

  it('that is malformed is a 400', async () => {
    const bad = [
      await sendBody('', 'multipart/form-data'),
      await sendBody('x'.repeat(100), 'multipart/form-data'),
      await sendBody(part('first_name', 'Ama')),
      await sendBody(
        '--b\r\nContent-Disposition: form-data; name="selfie"; filename="a"\r\n\r\ncut',
      ),
      await sendBody('no boundary at all'),
      await sendBody(`--b\r\n${'X'.repeat(20_000)}`),
      await sendBody(`${part('__proto__', 'x')}--b--\r\n`),
      await sendBody(`${part('constructor', 'x')}--b--\r\n`),
      await sendBody('--b--\r\n', `multipart/form-data; boundary=${'b'.repeat(8_000)}`),
      await sendBody('--b--\r\n'),
      await sendBody(''),
    ]
    expect(bad.map((seen) => seen.status)).toEqual(bad.map(() => 400))
    for (const seen of bad) expect(seen.body['status']).toBe('error')
  })

  it('is not taken on any other route', async () => {
    const seen = await call(edge.url, 'POST', '/payments/request?version=2024-10-01', {
      body: form(),
    })
    expect(seen.body).toMatchObject({ code: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE' })
  })
})
