// Sends one call with the headers of the API, repeats it with the same ids after a transient error, and reads the response.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PayweaveError } from './error.ts'

/** How calls are sent. */
export type TransportOptions = {
  baseUrl: string
  subscriptionKey: string
  originCountry: string
  ipAddress: string
  userAgent: string
  /** Time for one attempt, in milliseconds; by default 30,000, and 60,000 for a form. */
  timeoutMs?: number
  maxRetries: number
  fetch: typeof fetch
  /** Called with each response of the API, also before a repeat. What it throws, the call rejects with. */
  onResponse?: (response: ApiResponse) => void
}

/** What a response has beside its body. */
export type ApiResponse = {
  status: number
  headers: Headers
  /** Id of the request. */
  requestId: string
}

/** One call. */
export type Call = {
  method: 'GET' | 'POST'
  /** Path of the route, for example `/payments/status`. */
  path: string
  version: string
  query?: Record<string, string | number | undefined>
  /** The JSON body, or a form. */
  body?: object | FormData
  headers?: Record<string, string>
  /** The call must not be executed twice: it is repeated only after 408 and 429, when it was not executed. */
  isOnce?: true
}

/** What a caller may choose for one call. */
export type CallOptions = {
  /** Ends the call and the pauses between its attempts. */
  signal?: AbortSignal
  /** A UUID that becomes the `request_id` of each attempt. A new one when unset. */
  requestId?: string
  /** In place of that of the client. */
  timeoutMs?: number
  /** In place of that of the client; 0: the call is sent once. */
  maxRetries?: number
}

/**
 * Sends a call. Rejects with a PayweaveError, with the reason of `signal` when that aborts, and with a TypeError for a call that
 * cannot be sent: a header that is not text, or a body that JSON cannot express.
 */
export type Send = <T>(call: Call, options?: CallOptions) => Promise<T>

/** More than the API takes for any response. A form may take 30 s to send, and 15 s until its response. */
const defaultTimeoutMs = { json: 30_000, form: 60_000 }
const firstPauseMs = 250
const maxPauseMs = 8_000
/** A longer `Retry-After` is for the caller to honour: the error has it. */
const maxRetryAfterS = 60
const inProgress = 'IDEMPOTENCY_KEY_IN_PROGRESS'
/** The first call with a key has its outcome within this time, also when its process died. */
const maxInProgressMs = 60_000
const repeatedStatuses = new Set([0, 408, 429, 500, 502, 503, 504])
const repeatedOnceStatuses = new Set([408, 429])

/** Makes the function that sends calls; it rejects with a PayweaveError. */
export function createTransport(client: TransportOptions): Send {
  return async <T>(call: Call, options: CallOptions = {}) => {
    const { signal, requestId = randomUUID(), maxRetries = client.maxRetries } = options
    let retries = 0
    let inProgressEndMs = Number.POSITIVE_INFINITY
    for (;;) {
      const answer = await exchange(client, call, { ...options, requestId })
      if ('body' in answer) return answer.body as T
      signal?.throwIfAborted()
      const { error } = answer
      const isInProgress = error.reason === inProgress
      const nowMs = performance.now()
      if (isInProgress) inProgressEndMs = Math.min(inProgressEndMs, nowMs + maxInProgressMs)
      const isOver = isInProgress ? nowMs >= inProgressEndMs : retries >= maxRetries
      if (isOver || maxRetries === 0 || !mayPass(call, error)) throw error
      await pause(pauseMs(retries, error), signal)
      if (!isInProgress) retries += 1
    }
  }
}

/** Waits for `ms` milliseconds. Rejects with the reason of `signal` when that aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // Aborted, the timer rejects with an error of its own.
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() =>
    signal?.throwIfAborted(),
  )
}

/** Whether the same request may succeed in a moment, without being executed twice. */
function mayPass({ isOnce }: Call, { status, reason, retryAfterS = 0 }: PayweaveError): boolean {
  if (retryAfterS > maxRetryAfterS) return false
  const statuses = isOnce === true ? repeatedOnceStatuses : repeatedStatuses
  return statuses.has(status) || reason === inProgress
}

/** Exponential backoff with full jitter, after what `Retry-After` asks for. */
function pauseMs(retries: number, { retryAfterS = 0 }: PayweaveError): number {
  return retryAfterS * 1_000 + Math.random() * Math.min(maxPauseMs, firstPauseMs * 2 ** retries)
}

async function exchange(
  client: TransportOptions,
  call: Call,
  { signal, requestId, ...options }: CallOptions & { requestId: string },
): Promise<{ body: unknown } | { error: PayweaveError }> {
  const { method, path, body } = call
  const defaultMs = defaultTimeoutMs[body instanceof FormData ? 'form' : 'json']
  const timeoutMs = options.timeoutMs ?? client.timeoutMs ?? defaultMs
  const timeout = AbortSignal.timeout(timeoutMs)
  // Made before the attempt: what they throw is a mistake in the call, which no repeat corrects.
  const url = urlOf(client, call)
  const request: RequestInit = {
    method,
    headers: headersOf(client, call, requestId),
    // A redirect would carry the keys to another address.
    redirect: 'manual',
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  }
  let response: Response
  let text: string
  try {
    response = await client.fetch(url, request)
    text = await response.text()
  } catch (cause) {
    const message = timeout.aborted
      ? `${method} ${path} got no response within ${timeoutMs} ms`
      : `${method} ${path} got no response`
    const facts = { status: 0, reason: 'NO_RESPONSE', message, requestId, cause }
    return { error: new PayweaveError(facts) }
  }
  const { status, headers } = response
  client.onResponse?.({ status, headers, requestId: headers.get('pw-request-id') ?? requestId })
  const found = parse(text)
  if (response.ok && found !== undefined) return { body: found }
  return { error: refusal(response, found ?? {}, requestId) }
}

function urlOf({ baseUrl }: TransportOptions, { path, version, query = {} }: Call): URL {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}${path}`)
  const parameters: Call['query'] = { version, ...query }
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return url
}

function headersOf(client: TransportOptions, { body, headers }: Call, requestId: string) {
  const isJson = body !== undefined && !(body instanceof FormData)
  const all: Record<string, string> = {
    'PW-subscription-key': client.subscriptionKey,
    'PW-origin-country': client.originCountry,
    'PW-request-date': new Date().toISOString().slice(0, 19).replace('T', ' '),
    'PW-ip-address': client.ipAddress,
    'PW-request-id': requestId,
    'User-Agent': client.userAgent,
    Accept: 'application/json',
    ...(isJson && { 'Content-Type': 'application/json' }),
    ...headers,
  }
  for (const [name, value] of Object.entries<unknown>(all)) {
    // `fetch` would make the text "undefined" of a missing value.
    if (typeof value !== 'string') throw new TypeError(`${name} must be a string`)
  }
  // Throws for a value that no header takes.
  void new Headers(all)
  return all
}

/** The header of a key. Throws a TypeError for a key that the API does not take, and for a missing one. */
export function idempotencyHeader(key: string): Record<string, string> {
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return { 'Idempotency-Key': key }
  throw new TypeError('idempotencyKey must have 1 to 255 visible ASCII characters')
}

type Json = Record<string, unknown>

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function refusal({ status, headers }: Response, body: Json, requestId: string): PayweaveError {
  const data = (body['data'] ?? {}) as Json
  const { missing } = body
  const retryAfter = headers.get('retry-after') ?? ''
  return new PayweaveError({
    status,
    reason: text(body['errorCode']) ?? text(data['errorCode']) ?? `HTTP_${status}`,
    message: text(body['message']) ?? `The response has status ${status} and is not of this API.`,
    requestId: text(body['request_id']) ?? headers.get('pw-request-id') ?? requestId,
    field: text(body['field']),
    missing: Array.isArray(missing) ? missing.map(String) : undefined,
    docUrl: text(body['doc_url']),
    retryAfterS: /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined,
  })
}
