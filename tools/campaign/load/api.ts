// Calls the JSON API as a client does: each call is noted and held against the documents, and repeated until its answer is clear.
import { createCipheriv, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { SandboxFile } from '../../../deploy/local/sandbox-file.ts'
import { expectDocumented } from '../../../test/support/openapi.ts'
import type { Operation, Try } from './records.ts'

export type Json = Record<string, unknown>

/** One call of the API. */
export type Call = {
  method: 'GET' | 'POST'
  path: string
  version?: '2024-10-01' | '2026-07-01' | '2026-12-01'
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Json
  /** In place of a JSON body. */
  form?: Form
}

/** Fields of a form, and its files: their content by name. */
export type Form = { fields: Record<string, string>; files: Record<string, string> }

/** An answer. */
export type ApiResponse = { status: number; body: Json; text: string }

/** A client with the credentials of one project. */
export type Api = {
  apiKey: string
  /** Pages of the back end, where payers type cards and agents take cash. */
  simulatorUrl: string
  /**
   * Makes a call, again and again with the same ids until its answer is clear: neither lost, nor 5xx, nor the answer to a
   * request that is still running. Throws when the client gives up.
   */
  clear(operation: Operation, call: Call): Promise<ApiResponse>
  /** As `clear`. Throws for every other answer than 2xx. */
  accepted(operation: Operation, call: Call): Promise<Json>
  /** Gives up what is not clear by then; without it a client never does, since faults may follow each other. */
  giveUpAt(timeMs: number): void
  /** When it gives up. Milliseconds since 1970. */
  untilMs(): number
  /** Seals a session token for a transaction. */
  seal(token: string): string
  close(): Promise<void>
}

/** A client waited for a clear answer for as long as it may. */
export class GaveUp extends Error {}

export const institutionName = 'Demo Wallet'
const againMs = 300
/** Above the time limit of every route. */
const answerWithinMs = 25_000
const runs = new Set(['IDEMPOTENCY_KEY_IN_PROGRESS'])
/** No request could be read from the connection in time, as on a machine that is busy: the answer has the form of payments. */
const unreadStatus = 408
const formOfUnread = { method: 'POST', path: '/payments/request' }
const again = new Set([unreadStatus, 429])

/** Opens a client of a project of a sandbox. */
export function openApi(
  { base_url, simulator_url, projects, institutions }: SandboxFile,
  project: 'demo' | 'other' = 'demo',
): Api {
  const { subscription_key, api_key } = projects[project]
  const agent = new Agent({ connections: 256, pipelining: 1 })

  let giveUpMs = Infinity
  const once = (call: Call): Promise<Exchanged> => send(agent, base_url, subscription_key, call)

  async function clear(operation: Operation, call: Call): Promise<ApiResponse> {
    for (;;) {
      const { one, answer } = await once(call)
      operation.tries.push(one)
      const { status, text } = answer
      const runsYet = status === 202 || runs.has(one.error ?? '')
      if (status >= 200 && status < 500 && !again.has(status) && !runsYet) return answer
      if (Date.now() > giveUpMs) throw new GaveUp(`${one.route}: ${status} ${text.slice(0, 300)}`)
      await sleep(againMs)
    }
  }

  return {
    apiKey: api_key,
    simulatorUrl: simulator_url,
    giveUpAt(timeMs) {
      giveUpMs = timeMs
    },
    untilMs: () => giveUpMs,
    clear,
    async accepted(operation, call) {
      const { status, body, text } = await clear(operation, call)
      if (status < 300) return body
      throw new Error(`${call.method} ${call.path}: ${status} ${text.slice(0, 300)}`)
    },
    seal: (token) => seal(institutions[institutionName], token),
    close: () => agent.destroy(),
  }
}

type Exchanged = { one: Try; answer: ApiResponse }

async function send(agent: Agent, baseUrl: string, key: string, call: Call): Promise<Exchanged> {
  const sentMs = Date.now()
  const { method, path, version = '2024-10-01', query = {}, headers = {} } = call
  const sent = contentOf(call)
  const url = `${baseUrl}${path}?${new URLSearchParams({ version, ...query }).toString()}`
  const noted = { route: `${method} ${path}`, sentMs }
  try {
    const response = await request(url, {
      method,
      dispatcher: agent,
      signal: AbortSignal.timeout(answerWithinMs),
      headers: {
        'PW-subscription-key': key,
        'PW-origin-country': 'US',
        'PW-request-date': new Date().toISOString().slice(0, 19).replace('T', ' '),
        'PW-ip-address': '127.0.0.1',
        'User-Agent': 'payweave-campaign/1.0',
        ...(sent !== undefined && { 'Content-Type': sent.type }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent.text }),
    })
    const status = response.statusCode
    const text = await response.body.text()
    const endMs = Date.now()
    const problem = problemOf(() => {
      const all = new Headers(response.headers as Record<string, string>)
      const form = status === unreadStatus ? formOfUnread : { method, path }
      expectDocumented({ ...form, status, headers: all, text })
    })
    const parsed = (text === '' ? {} : JSON.parse(text)) as Json
    const code = parsed['errorCode']
    const one: Try = {
      ...noted,
      endMs,
      status,
      ...(typeof code === 'string' && { error: code }),
      ...(problem !== undefined && { undocumented: problem }),
    }
    return { one, answer: { status, body: parsed, text } }
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException
    const one = { ...noted, endMs: Date.now(), status: 0, error: code ?? name }
    return { one, answer: { status: 0, body: {}, text: String(error) } }
  }
}

const boundary = 'campaign-form'

/** The body of a call with its type; undefined when it has none. */
function contentOf({ body, form }: Call): { type: string; text: string } | undefined {
  if (body !== undefined) return { type: 'application/json', text: JSON.stringify(body) }
  if (form === undefined) return undefined
  const partOf = (name: string, content: string, more = ''): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`
  const parts = [
    ...Object.entries(form.fields).map(([name, value]) => partOf(name, value)),
    ...Object.entries(form.files).map(([name, content]) =>
      partOf(name, content, '; filename="file"'),
    ),
  ]
  const type = `multipart/form-data; boundary=${boundary}`
  return { type, text: `${parts.join('')}--${boundary}--\r\n` }
}

/** What a check throws, in words. */
export function problemOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Seals a session token with the institution's shared key, as docs/integrate/api-money.md says. */
function seal({ key_id, shared_key }: { key_id: string; shared_key: string }, token: string) {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(shared_key, 'base64'), iv)
  cipher.setAAD(Buffer.from('session_token'))
  const sealed = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()])
  const head = Buffer.concat([Buffer.from([1]), Buffer.from(key_id, 'hex'), iv])
  return Buffer.concat([head, sealed, cipher.getAuthTag()]).toString('base64')
}

/** Opens a session of a holder by their number. */
export async function openSession(
  api: Api,
  operation: Operation,
  mobileNumber: string,
): Promise<string> {
  const answer = await api.accepted(operation, {
    method: 'POST',
    path: '/account/account_session',
    headers: { 'PW-request-id': randomUUID() },
    body: { lookup_type: 'MOBILE', lookup_value: mobileNumber, institution_name: institutionName },
  })
  const { session } = answer['data'] as { session: { session_token: string } | null }
  if (session === null) throw new Error(`no session for ${mobileNumber}`)
  return session.session_token
}
