// POST /account/personal_account as a form: read only after the permission, passed on as it comes, within its limits, never a 500.
import net from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import {
  call,
  type EdgeFixture,
  goodHeaders,
  keys,
  parseRaw,
  paymentId,
  type Seen,
  sendRaw,
  startEdge,
} from './harness.ts'
import type { SeenUpload } from './stand-ins/accounts.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => {
  const { accounts } = edge.seen
  accounts.uploads.length = 0
  accounts.personal.length = 0
  accounts.refuseWith = undefined
  accounts.beforePart = undefined
})

const target = '/account/personal_account?version=2024-10-01'
const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(1_000)])
const png = Buffer.from('89504e470d0a1a0a00', 'hex')
const pdf = Buffer.from('%PDF-1.7 x')
const mebibyte = 1024 * 1024
const person = {
  first_name: 'Ama',
  last_name: 'Mensah',
  email: 'ama@example.com',
  mobile_number: '+12025550100',
  institution_name: 'Demo Wallet',
}

type Files = Record<string, Buffer<ArrayBuffer>>

function form(files: Files = {}, more: Record<string, string> = {}): FormData {
  const data = new FormData()
  const fields = { ...person, dob: '1990-01-01', ...more }
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  for (const [name, content] of Object.entries(files)) {
    data.append(name, new Blob([content]), `${name}.jpg`)
  }
  return data
}

const send = (body: FormData, headers = goodHeaders()) =>
  call(edge.url, 'POST', target, { headers, body })

function headOf(length: number, type = 'multipart/form-data; boundary=b'): string {
  const headers = { Host: 'localhost', ...goodHeaders(), Connection: 'close', 'Content-Type': type }
  const lines = Object.entries({ ...headers, 'Content-Length': String(length) })
  const head = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')
  return `POST ${target} HTTP/1.1\r\n${head}\r\n\r\n`
}

/** Sends these bytes as the body, with a content type that declares the boundary `b`. */
async function sendBody(body: string | Buffer, type?: string): Promise<Seen> {
  const bytes = Buffer.from(body)
  return parseRaw(
    await sendRaw(edge.port, Buffer.concat([Buffer.from(headOf(bytes.length, type)), bytes])),
  )
}

const part = (name: string, value: string, more = '') =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
const parts = (fields: Record<string, string>) =>
  Object.entries(fields)
    .map(([name, value]) => part(name, value))
    .join('')
const filePart = (name: string, content: string) => part(name, content, '; filename="a.jpg"')

/** The last upload, once it has ended. */
async function endOfUpload({ seen } = edge): Promise<SeenUpload | undefined> {
  await eventually(() => expect(seen.accounts.uploads.at(-1)?.outcome ?? 'open').not.toBe('open'))
  return seen.accounts.uploads.at(-1)
}

async function expectNothingStored(): Promise<void> {
  expect(edge.seen.accounts.personal).toEqual([])
  const { uploads } = edge.seen.accounts
  const outcome = uploads.length === 0 ? 'none' : (await endOfUpload())?.outcome
  expect(outcome).toMatch(/^(none|broken|without profile)$/)
}

describe('a form', () => {
  it('a form is forwarded with all fields and artefacts, with types detected from the contents', async () => {
    const files = {
      selfie: jpeg,
      poa_file: pdf,
      id_document1_file: png,
      other: Buffer.from('text'),
    }
    const seen = await send(
      form(files, { occupation: '' }),
      goodHeaders({ 'PW-request-id': paymentId }),
    )
    expect(seen.body).toMatchObject({
      status: 'success',
      code: 200,
      request_id: paymentId,
      data: {
        account_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        account_status: 'pending_review',
        account_type: 'personal',
        mobile_number: '+12025550100',
        email: 'ama@example.com',
      },
    })
    expect(edge.seen.accounts.personal).toEqual([])
    expect(await endOfUpload()).toMatchObject({
      requestId: paymentId,
      outcome: 'stored',
      artefacts: [
        { field: 'selfie', mediaType: 'image/jpeg', bytes: jpeg.length },
        { field: 'poa_file', mediaType: 'application/pdf', bytes: pdf.length },
        { field: 'id_document1_file', mediaType: 'image/png', bytes: png.length },
      ],
      profile: {
        firstName: 'Ama',
        mobileNumber: '+12025550100',
        institutionName: 'Demo Wallet',
        details: { dob: '1990-01-01' },
        originCountry: 'TT',
      },
    })
  })

  it('a form without artefacts is a profile with details', async () => {
    expect((await send(form({}, { nationality: 'GH' }))).status).toBe(200)
    expect(edge.seen.accounts.uploads).toEqual([])
    expect(edge.seen.accounts.personal[0]?.profile?.details).toEqual({
      dob: '1990-01-01',
      nationality: 'GH',
    })
  })

  it('a form may have its texts after its files', async () => {
    const seen = await sendBody(`${filePart('selfie', '%PDF-1.7')}${parts(person)}--b--\r\n`)
    expect(seen.status).toBe(200)
    expect((await endOfUpload())?.outcome).toBe('stored')
  })

  it('a form whose texts are refused after its files has nothing stored', async () => {
    const { email: _, ...rest } = person
    const seen = await sendBody(`${filePart('selfie', '%PDF-1.7')}${parts(rest)}--b--\r\n`)
    expect(seen.body).toMatchObject({ code: 400, message: 'email is required.' })
    expect((await endOfUpload())?.artefacts).toHaveLength(1)
    await expectNothingStored()
  })

  it('a form is checked like JSON', async () => {
    const both = await send(form({}, { callback_url: 'https://example.com/x' }))
    expect(both.body['message']).toBe('authorisation_token is required.')
    const missing = form()
    missing.delete('email')
    expect((await send(missing)).body['message']).toBe('email is required.')
    const nul = await send(form({}, { occupation: 'a\u0000b' }))
    expect(nul.body['message']).toBe('occupation must not contain U+0000.')
    await expectNothingStored()
  })

  it('a form names a field once, text or file', async () => {
    const twice = form({ selfie: jpeg })
    twice.append('email', 'kofi@example.com')
    expect((await send(twice)).body).toMatchObject({
      errorCode: 'INVALID_PARAMETER',
      message: 'email must be given once.',
    })
    const files = form({ selfie: jpeg })
    files.append('selfie', new Blob([jpeg]), 'again.jpg')
    expect((await send(files)).body['message']).toBe('selfie must be given once.')
    await expectNothingStored()
  })

  it('a form must have texts as texts and files as files', async () => {
    const text = await sendBody(`${parts({ ...person, selfie: 'me' })}--b--\r\n`)
    expect(text.body['message']).toBe('selfie must be a file.')
    const file = await sendBody(`${parts(person)}${filePart('dob', '1990-01-01')}--b--\r\n`)
    expect(file.body['message']).toBe('dob must be a text, not a file.')
    await expectNothingStored()
  })

  it('a form has texts in UTF-8', async () => {
    const start = Buffer.from(
      `${parts(person)}--b\r\nContent-Disposition: form-data; name="city"\r\n\r\n`,
    )
    const end = Buffer.from('\r\n--b--\r\n')
    const bad = await sendBody(Buffer.concat([start, Buffer.from([0x41, 0xff, 0xfe]), end]))
    expect(bad.body).toMatchObject({
      errorCode: 'INVALID_PARAMETER',
      message: 'city must be text in UTF-8.',
    })
    const good = await sendBody(Buffer.concat([start, Buffer.from('Übach \ufffd'), end]))
    expect(good.status).toBe(200)
    expect(edge.seen.accounts.personal[0]?.profile?.details['city']).toBe('Übach \ufffd')
  })

  it('a form is refused when an artefact is of another kind than its name says', async () => {
    const seen = await send(form({ id_document1_file: Buffer.from('MZ not a picture') }))
    expect(seen.body).toMatchObject({
      code: 415,
      errorCode: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'id_document1_file must be a JPEG, PNG or PDF.',
    })
    expect((await send(form({ selfie: Buffer.alloc(0) }))).status).toBe(415)
    expect((await send(form({ selfie: jpeg, poa_file: Buffer.from('x') }))).status).toBe(415)
    await expectNothingStored()
  })

  it('a form may have 10 MiB a file and 25 MiB in all', async () => {
    const big = Buffer.concat([jpeg, Buffer.alloc(9 * mebibyte)])
    expect((await send(form({ selfie: big }))).status).toBe(200)
    const [artefact] = (await endOfUpload())?.artefacts ?? []
    expect(artefact?.bytes).toBe(big.length)
    expect(artefact?.maxChunk).toBeLessThanOrEqual(64 * 1024)
    edge.seen.accounts.uploads.length = 0
    const tooBig = await send(form({ selfie: Buffer.concat([jpeg, Buffer.alloc(10 * mebibyte)]) }))
    expect(tooBig.body).toMatchObject({ code: 413, errorCode: 'PAYLOAD_TOO_LARGE' })
    const unknownKind = await send(form({ selfie: Buffer.alloc(10 * mebibyte + 1) }))
    expect(unknownKind.status).toBe(413)
    const files = { id_document1_file: big, id_document2_file: big, poa_file: big }
    expect((await send(form(files))).body['errorCode']).toBe('PAYLOAD_TOO_LARGE')
    const long = await send(form({}, { occupation: 'x'.repeat(70_000) }))
    expect(long.body['errorCode']).toBe('PAYLOAD_TOO_LARGE')
    await expectNothingStored()
  })

  it('a form may have 25 MiB in total, also without a Content-Length', async () => {
    const files = form({ selfie: jpeg })
    for (let index = 0; index < 3; index += 1) {
      files.append(`other${index}`, new Blob([Buffer.alloc(9 * mebibyte)]), 'a')
    }
    const whole = new Response(files)
    const type = whole.headers.get('content-type') ?? ''
    const response = await fetch(`${edge.url}${target}`, {
      method: 'POST',
      headers: { ...goodHeaders(), 'content-type': type },
      body: whole.body,
      duplex: 'half',
    })
    expect(response.status).toBe(413)
    await expectNothingStored()
  })

  it('a form is read only when the project may use the route', async () => {
    const files = { selfie: Buffer.alloc(26 * mebibyte) }
    for (const [key, code] of [
      [keys.unknown, 401],
      [keys.paymentsOnly, 403],
    ] as const) {
      const seen = await send(form(files), goodHeaders({ 'PW-subscription-key': key }))
      expect(seen.status).toBe(code)
    }
    expect(edge.seen.accounts.uploads).toEqual([])
  })

  it('a form may have at most 108 parts', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => part(`f${index}`, 'x')).join('')
    const few = await sendBody(`${parts(person)}${many(100)}--b--\r\n`)
    expect(few.status).toBe(200)
    edge.seen.accounts.personal.length = 0
    const tooMany = await sendBody(`${filePart('selfie', '%PDF-1.7')}${many(1_000)}--b--\r\n`)
    expect(tooMany.body).toMatchObject({ code: 413, errorCode: 'PAYLOAD_TOO_LARGE' })
    const files = Array.from({ length: 1_000 }, (_, index) => filePart(`f${index}`, 'x')).join('')
    expect((await sendBody(`${files}--b--\r\n`)).status).toBe(413)
    await expectNothingStored()
  })

  it('a malformed form is a 400', async () => {
    const bad = [
      await sendBody('', 'multipart/form-data'),
      await sendBody('x'.repeat(100), 'multipart/form-data'),
      await sendBody(part('first_name', 'Ama')),
      await sendBody(
        `${parts(person)}--b\r\nContent-Disposition: form-data; name="selfie"; filename="a"\r\n\r\n%PDF-cut`,
      ),
      await sendBody(`${parts(person)}--b\r\nContent-Disposition: form-data; name="x"`),
      await sendBody('no boundary at all'),
      await sendBody(`--b\r\n${'X'.repeat(20_000)}`),
      await sendBody(`${parts(person)}--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n`),
      await sendBody('--b--\r\n', `multipart/form-data; boundary=${'b'.repeat(8_000)}`),
      await sendBody('--b--\r\n'),
      await sendBody(''),
    ]
    expect(bad.map((seen) => seen.status)).toEqual(bad.map(() => 400))
    for (const seen of bad) expect(seen.body['status']).toBe('error')
    await expectNothingStored()
  })

  it.each(['__proto__', 'constructor', 'toString'])(
    'a form ignores a field named %s like any unknown one',
    async (name) => {
      const both = `${part(name, 'x')}${filePart(name, 'file')}`
      expect((await sendBody(`${part(name, 'x')}${parts(person)}--b--\r\n`)).status).toBe(200)
      expect((await sendBody(`${filePart(name, 'x')}${parts(person)}--b--\r\n`)).status).toBe(200)
      expect(edge.seen.accounts.personal.at(-1)?.profile?.details).toEqual({})
      // It hides nothing that is wrong beside it.
      const { email: _, ...rest } = person
      expect((await sendBody(`${both}${parts(rest)}--b--\r\n`)).status).toBe(400)
      edge.seen.accounts.personal.length = 0
      expect((await sendBody(`${parts(person)}${part(name, 'x')}`)).status).toBe(400)
      await expectNothingStored()
    },
  )

  it('a form is not accepted on any other route', async () => {
    const seen = await call(edge.url, 'POST', '/payments/request?version=2024-10-01', {
      body: form(),
    })
    expect(seen.body).toMatchObject({ code: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE' })
  })
})

describe('an upload', () => {
  it('an upload is read no faster than it is taken', async () => {
    const { promise: release, resolve } = Promise.withResolvers<void>()
    edge.seen.accounts.beforePart = () => release
    const body = Buffer.concat([
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="selfie"; filename="a"\r\n\r\n`),
      jpeg,
      Buffer.alloc(9 * mebibyte),
      Buffer.from(`\r\n${parts(person)}--b--\r\n`),
    ])
    const socket = net.connect(edge.port, '127.0.0.1')
    let text = ''
    socket.on('data', (data) => {
      text += data.toString()
    })
    socket.write(headOf(body.length))
    socket.write(body)
    await eventually(() => expect(edge.seen.accounts.uploads).toHaveLength(1))
    // Another one of its size, which is taken, goes through meanwhile.
    edge.seen.accounts.beforePart = undefined
    const other = await sendRaw(edge.port, Buffer.concat([Buffer.from(headOf(body.length)), body]))
    expect(parseRaw(other).status).toBe(200)
    // What is still here has been read neither by the gateway nor into any buffer of it.
    expect(socket.writableLength).toBeGreaterThan(0)
    resolve()
    await new Promise((done) => socket.once('close', done))
    expect(parseRaw(text).status).toBe(200)
    const sizes = edge.seen.accounts.uploads.map(({ artefacts }) => artefacts[0]?.bytes)
    expect(sizes).toEqual(Array(2).fill(jpeg.length + 9 * mebibyte))
  })

  it('an upload of a stalled client ends with 408, and nothing is stored', async () => {
    // Longer than a machine may stall before the upload has begun.
    const hasty = await startEdge({ requestTimeoutMs: 4_000 })
    const start = `${parts(person)}--b\r\nContent-Disposition: form-data; name="selfie"; filename="a"\r\n\r\n%PDF-1.7 and then no more`
    const socket = net.connect({ port: hasty.port, host: '127.0.0.1', allowHalfOpen: true })
    let text = ''
    socket.on('data', (data) => {
      text += data.toString()
    })
    socket.write(`${headOf(1_000_000)}${start}`)
    await new Promise((done) => socket.once('end', done))
    expect(parseRaw(text).body).toMatchObject({ code: 408, errorCode: 'TIMEOUT' })
    // The client keeps its end open: the gateway lets go of it all the same.
    expect((await endOfUpload(hasty))?.outcome).toBe('broken')
    socket.destroy()
    await hasty.close()
  })

  it('an upload of a client that disconnects is aborted', async () => {
    const start = `--b\r\nContent-Disposition: form-data; name="selfie"; filename="a"\r\n\r\n%PDF-1.7 x`
    const socket = net.connect(edge.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`${headOf(1_000_000)}${start}`)
    await eventually(() =>
      expect(edge.seen.accounts.uploads.at(-1)?.artefacts ?? []).toHaveLength(1),
    )
    socket.destroy()
    expect((await endOfUpload())?.artefacts).toHaveLength(1)
    await expectNothingStored()
  })

  it('an upload that accounts refuses returns the reason', async () => {
    edge.seen.accounts.refuseWith = 'ACCOUNT_EXISTS'
    const seen = await send(form({ selfie: jpeg }))
    expect(seen.body).toMatchObject({ code: 409, errorCode: 'ACCOUNT_EXISTS' })
  })

  it('an upload that accounts aborts midway is a 500 and does not hang', async () => {
    edge.seen.accounts.beforePart = () => Promise.reject(new Error('disk full'))
    const seen = await send(form({ selfie: Buffer.concat([jpeg, Buffer.alloc(5 * mebibyte)]) }))
    expect(seen.body).toMatchObject({ code: 500, errorCode: 'INTERNAL_ERROR' })
    expect(seen.text).not.toContain('disk full')
    expect((await send(form())).status).toBe(200)
  })
})
