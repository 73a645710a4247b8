// What system tests do as a client of the Account API and as the receiver of its signed callbacks: by HTTP alone.
import { createDecipheriv, createHmac, randomInt, randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { SharedMesh } from '../../support/mesh.ts'
import { expectDocumentedPush } from '../../support/openapi.ts'
import { type ApiResponse, type Json, merchant, type Push, receivedBy, unique } from '../harness.ts'

type Sandbox = Pick<SharedMesh, 'sandbox'>

export const institution_name = 'Demo Wallet'

/** The routes under /account, called by one project. */
export function accountClient(mesh: Sandbox, project: Parameters<typeof merchant>[1] = 'demo') {
  const { call } = merchant(mesh, project)
  const post = (route: string, body: unknown, headers: Record<string, string> = {}) =>
    call('POST', `/account/${route}`, { body, headers })
  return {
    call,
    session: (body: Json, requestId: string = randomUUID()): Promise<ApiResponse> =>
      post('account_session', body, { 'PW-request-id': requestId }),
    status: (query: Record<string, string>): Promise<ApiResponse> =>
      call('GET', '/account/account', { query: { institution_name, ...query } }),
    personal: (body: Json): Promise<ApiResponse> => post('personal_account', body),
    /** The profile as a form; a value that starts like a file is sent as one. */
    personalForm: (fields: Record<string, string>, files: Record<string, string> = {}) =>
      post('personal_account', formOf(fields, files), formType),
    /** Any bytes as a form with the boundary `b`. */
    personalBytes: (body: string, type: Record<string, string> = formType) =>
      post('personal_account', body, type),
    business: (body: Json): Promise<ApiResponse> => post('business_account', body),
    register: (body: Json): Promise<ApiResponse> => post('register_account', body),
    balance: (mobile_number: string): Promise<ApiResponse> =>
      call('GET', '/account/balance', { query: { mobile_number } }),
    history: (body: Json): Promise<ApiResponse> => post('transaction_history', body),
  }
}

const formType = { 'Content-Type': 'multipart/form-data; boundary=b' }

/** A form with the boundary `b`. */
export function formOf(fields: Record<string, string>, files: Record<string, string> = {}): string {
  const parts = [
    ...Object.entries(fields).map(([name, value]) => partOf(name, value)),
    ...Object.entries(files).map(([name, content]) => partOf(name, content, '; filename="a.bin"')),
  ]
  return `${parts.join('')}--b--\r\n`
}

/** One part of such a form. */
export function partOf(name: string, content: string, more = ''): string {
  return `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`
}

/** A number that nobody has an account on. */
export function newNumber(): string {
  return `+1246${String(randomInt(2_000_000, 9_999_999))}`
}

/** A profile of somebody new. */
export function newProfile(more: Record<string, string> = {}) {
  return {
    first_name: 'Efua',
    last_name: 'Sutherland',
    email: `${unique('efua')}@example.com`,
    mobile_number: newNumber(),
    institution_name,
    ...more,
  }
}

export function dataOf({ body }: ApiResponse): Json {
  return (body['data'] ?? {}) as Json
}

/** The token of an accepted look-up. */
export function tokenOf(answer: ApiResponse): string {
  expect(answer.status, answer.text).toBe(200)
  return String((dataOf(answer)['session'] as Json)['session_token'])
}

/** A receiver of callbacks of accounts, with a token of its own. */
export function callbackReceiver({ sandbox }: Sandbox) {
  const tag = unique('onboarding')
  const authorisation_token = unique('token')
  return {
    /** What a request sends to be called back. */
    asked: {
      callback_url: `${sandbox.simulator_url}/receivers/ok/${tag}`,
      authorisation_token,
    },
    received: () => receivedBy(sandbox.simulator_url, tag),
    /** The first callback, whose signature and token have been proved with the keys of sandbox.json. */
    async proved(): Promise<Json> {
      const [push] = await eventually(
        () => receivedBy(sandbox.simulator_url, tag),
        (pushes) => expect(pushes).not.toEqual([]),
      )
      if (push === undefined) throw new Error('no callback')
      expectSigned(push, sandbox.institutions[institution_name].signing_secret)
      expect(openToken(push, sandbox.institutions[institution_name])).toBe(authorisation_token)
      const body = JSON.parse(push.body) as Json
      expectDocumentedPush('onboarding', body)
      return body
    },
  }
}

function expectSigned({ headers, body }: Push, secret: string): void {
  const [, seconds = '', given = ''] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['pw-signature'] ?? '') ?? []
  expect(Math.abs(Date.now() / 1_000 - Number(seconds))).toBeLessThan(300)
  const wanted = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  expect(given).toBe(wanted)
}

/** 0x01, four bytes of key id, twelve of nonce, the ciphertext, sixteen of tag. */
function openToken({ headers }: Push, keys: { key_id: string; shared_key: string }): string {
  const sealed = Buffer.from(headers['authorisation-token'] ?? '', 'base64')
  expect([sealed[0], sealed.subarray(1, 5).toString('hex')]).toEqual([1, keys.key_id])
  const key = Buffer.from(keys.shared_key, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(5, 17))
  decipher.setAAD(Buffer.from('authorisation-token'))
  decipher.setAuthTag(sealed.subarray(-16))
  const text = Buffer.concat([decipher.update(sealed.subarray(17, -16)), decipher.final()])
  return text.toString('utf8')
}
