// Sends requests of the public API and records request and response.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { ProjectName, Target } from './target.ts'

/** Any JSON object. */
export type Json = Record<string, unknown>

/** A response. Names of headers are in lower case. */
export type ApiResponse = {
  status: number
  headers: Record<string, string>
  text: string
  /** The body, when it is a JSON object; else empty. */
  body: Json
}

/** Parts of a call besides method and path; undefined values are not sent. */
export type CallOptions = {
  query?: Record<string, string | undefined>
  headers?: Record<string, string | undefined>
  /** A text is sent as it is. */
  body?: unknown
  project?: ProjectName
}

/** One call as it was sent. */
export type Sent = {
  method: string
  url: string
  headers: Record<string, string>
  body: string | undefined
}

/** One call and its answer, without anything secret. */
export type Exchange = {
  method: string
  path: string
  status: number
  requestId: string
  durationMs: number
}

/**
 * Sends a request and resolves to its response, of any status; 429 is retried up to five times. Rejects with WouldMake
 * for a request that might make something with a production key, with a TimeoutError when no response comes within 40
 * s, with an AbortError when the caller's signal aborts, and with undici's error when the deployment cannot be reached.
 */
export type Call = (method: string, path: string, options?: CallOptions) => Promise<ApiResponse>

/** How a caller behaves. */
export type CallerOptions = {
  signal?: AbortSignal
  /** Called before a request is sent. */
  onSent?: (sent: Sent) => void
  /** Called after each response, before 429 is retried. */
  onAnswered?: (exchange: Exchange, answer: ApiResponse) => void
  /** Resolves when the next call may be sent, when calls are paced. */
  turn?: () => Promise<void>
}

/** Thrown instead of sending a call that might make something with a production key. */
export class WouldMake extends Error {}

const contractVersion = '2024-10-01'
const billVersion = '2026-07-01'

const timeoutMs = 40_000
const patienceOfLimits = 5
const agent = new Agent({ connections: 32, bodyTimeout: timeoutMs, headersTimeout: timeoutMs })

/** Makes the function that calls a deployment; it rejects as `Call` says. */
export function caller(target: Target, options: CallerOptions = {}): Call {
  return async (method, path, more = {}) => {
    const sent = draft(target, method, path, more)
    if (target.readOnly && !isHarmless(sent)) {
      throw new WouldMake('not sent with a production key, because it might create something')
    }
    for (let refused = 0; ; refused += 1) {
      await options.turn?.()
      options.onSent?.(sent)
      const answer = await send(sent, options)
      if (answer.status !== 429 || refused === patienceOfLimits) return answer
      await sleep(Number(answer.headers['retry-after'] ?? 1) * 1_000, undefined, options)
    }
  }
}

function draft(target: Target, method: string, path: string, options: CallOptions): Sent {
  const keys = target.projects[options.project ?? 'demo'] ?? target.projects.demo
  const version = path.startsWith('/bill_payments/') ? billVersion : contractVersion
  const url = new URL(`${target.baseUrl}${path}`)
  for (const [name, value] of given({ version, ...options.query })) {
    url.searchParams.set(name, value)
  }
  const { body } = options
  const headers = {
    'PW-subscription-key': keys.subscriptionKey,
    'PW-origin-country': 'US',
    'PW-request-date': requestDate(),
    'PW-ip-address': '127.0.0.1',
    'User-Agent': 'payweave-cli/1.0',
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    ...options.headers,
  }
  return {
    method,
    url: url.href,
    headers: Object.fromEntries(given(headers)),
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
  }
}

async function send(sent: Sent, { signal, onAnswered }: CallerOptions): Promise<ApiResponse> {
  const startedMs = performance.now()
  const deadline = AbortSignal.timeout(timeoutMs)
  const response = await request(sent.url, {
    method: sent.method as 'GET',
    headers: sent.headers,
    dispatcher: agent,
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    ...(sent.body !== undefined && { body: sent.body }),
  })
  const text = await response.body.text()
  const headers = Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  )
  const answer = { status: response.statusCode, headers, text, body: jsonOf(text) }
  onAnswered?.(
    {
      method: sent.method,
      path: new URL(sent.url).pathname,
      status: answer.status,
      requestId: headers['pw-request-id'] ?? '',
      durationMs: Math.round(performance.now() - startedMs),
    },
    answer,
  )
  return answer
}

/** Whether a request cannot make anything: a read, or a body without fields. */
function isHarmless({ method, body = '' }: Sent): boolean {
  return method !== 'POST' || Object.keys(jsonOf(body)).length === 0
}

/** The JSON object in a text; an empty one when it holds none. */
export function jsonOf(text: string): Json {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Json)
      : {}
  } catch {
    return {}
  }
}

/** The value of PW-request-date for a time: `YYYY-MM-DD HH:mm:ss` in UTC. Throws a RangeError for an invalid date. */
function requestDate(date = new Date()): string {
  return date.toISOString().slice(0, 19).replace('T', ' ')
}

function given(values: Record<string, string | undefined>): [string, string][] {
  return Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined)
}
