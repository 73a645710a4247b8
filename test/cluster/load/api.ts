// Calls the JSON API as a client does: each call is noted, and repeated until its answer is clear.
import { createCipheriv, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { SandboxFile } from '../../../deploy/local/sandbox-file.ts'
import { isGood, type Operation, type Try } from './records.ts'

type Json = Record<string, unknown>

/** One call of the API. */
export type Call = {
  method: 'GET' | 'POST'
  path: string
  version?: string
  headers?: Record<string, string>
  body?: Json
}

/** A client with the credentials of the demo project. */
export type Api = {
  apiKey: string
  /**
   * Makes a call, again and again with the same ids until it is answered by 2xx, and returns the body. Throws for a
   * refusal, which no repetition changes.
   */
  clear(operation: Operation, call: Call): Promise<Json>
  /** A session token of a holder, sealed for a transaction and as it is. */
  session(operation: Operation, mobileNumber: string): Promise<{ token: string; sealed: string }>
  close(): Promise<void>
}

export const institutionName = 'Demo Wallet'
const againMs = 300
const answerWithinMs = 20_000
/** By then the cluster has recovered from every fault, or it does not. */
const giveUpMs = 240_000

export function openApi({ base_url, projects, institutions }: SandboxFile): Api {
  const { subscription_key, api_key } = projects.demo
  const agent = new Agent({ connections: 256, pipelining: 1 })

  async function once(call: Call): Promise<{ one: Try; body: Json; text: string }> {
    const sentMs = Date.now()
    const { method, path, version = '2024-10-01', headers = {}, body } = call
    const ended = (status: number, text: string, error?: string) => ({
      one: { sentMs, endMs: Date.now(), status, ...(error !== undefined && { error }) },
      body: parse(text),
      text,
    })
    try {
      const response = await request(`${base_url}${path}?version=${version}`, {
        method,
        dispatcher: agent,
        signal: AbortSignal.timeout(answerWithinMs),
        headers: {
          'PW-subscription-key': subscription_key,
          'PW-origin-country': 'US',
          'PW-request-date': new Date().toISOString().slice(0, 19).replace('T', ' '),
          'PW-ip-address': '127.0.0.1',
          'User-Agent': 'cluster-test/1.0',
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return ended(response.statusCode, await response.body.text())
    } catch (error) {
      const { code, name } = error as NodeJS.ErrnoException
      return ended(0, '', code ?? name)
    }
  }

  const clear = async (operation: Operation, call: Call): Promise<Json> => {
    const untilMs = Date.now() + giveUpMs
    for (;;) {
      const { one, body, text } = await once(call)
      operation.tries.push(one)
      // 202: accepted, and the outcome is not known yet.
      if (isGood(one) && one.status !== 202) return body
      const isClear = one.status >= 400 && one.status < 500 && one.status !== 409
      if (isClear || Date.now() > untilMs) {
        throw new Error(`${operation.kind} ${call.path}: ${one.status} ${text.slice(0, 300)}`)
      }
      await sleep(againMs)
    }
  }

  return {
    apiKey: api_key,
    clear,
    async session(operation, mobileNumber) {
      const answer = await clear(operation, {
        method: 'POST',
        path: '/account/account_session',
        headers: { 'PW-request-id': randomUUID() },
        body: {
          lookup_type: 'MOBILE',
          lookup_value: mobileNumber,
          institution_name: institutionName,
        },
      })
      const { session } = answer['data'] as { session: { session_token: string } }
      const token = session.session_token
      return { token, sealed: seal(institutions[institutionName], token) }
    },
    close: () => agent.close(),
  }
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    // A load balancer's own page.
    return {}
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
