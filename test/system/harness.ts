// What system tests do as a merchant, a payer and a receiver of pushes: by HTTP alone. It must not import the product's code.
import { randomBytes, randomInt } from 'node:crypto'
import { expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { meshAt, type SharedMesh } from '../support/mesh.ts'
import { expectDocumented, expectDocumentedPush } from '../support/openapi.ts'
import { startStopwatch } from '../support/stopwatch.ts'

/** Any JSON object. */
export type Json = Record<string, unknown>

/** An answer as a client sees it. */
export type ApiResponse = { status: number; headers: Headers; text: string; body: Json }

const version = '2024-10-01'

/** The system that ordinary tests share. */
export function sharedMesh(): SharedMesh {
  const given = process.env['PAYWEAVE_TEST_MESH']
  if (given === undefined) throw new Error('run by --config test/system/vitest.config.ts')
  const { dataDir, portBase } = JSON.parse(given) as { dataDir: string; portBase: number }
  return meshAt(dataDir, portBase)
}

/** A short text that no other test uses. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`
}

type Project = 'demo' | 'payments_only' | 'other' | 'ip_restricted'

/** How a call differs from a good one. A header or parameter set to undefined is left out. */
export type CallOptions = {
  query?: Record<string, string | undefined>
  headers?: Record<string, string | undefined>
  body?: unknown
  /** Never again, even if the machine stood still: for a call whose time is measured. */
  isSentOnce?: boolean
}

/** A merchant's server, with the credentials of one project of the sandbox. */
export function merchant(mesh: Pick<SharedMesh, 'sandbox'>, project: Project = 'demo') {
  const { base_url, projects } = mesh.sandbox
  const { subscription_key: subscriptionKey, api_key: apiKey } = projects[project]

  async function call(
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<ApiResponse> {
    const url = new URL(`${base_url}${path}`)
    for (const [name, value] of given({ version, ...options.query })) {
      url.searchParams.set(name, value)
    }
    const headers = new Headers(
      given({
        'PW-subscription-key': subscriptionKey,
        'PW-origin-country': 'US',
        'PW-request-date': requestDate(),
        'PW-ip-address': '127.0.0.1',
        'User-Agent': 'system-test/1.0',
        ...(options.body !== undefined && { 'Content-Type': 'application/json' }),
        ...options.headers,
      }),
    )
    const init: RequestInit = { method, headers }
    if (options.body !== undefined) {
      init.body = typeof options.body === 'string' ? options.body : JSON.stringify(options.body)
    }
    const send = options.isSentOnce === true ? exchangeOnce : exchange
    const { status, headers: answered, text } = await send(url, init)
    expectDocumented({ method, path: url.pathname, status, headers: answered, text })
    const body = (text === '' ? {} : JSON.parse(text)) as Json
    return { status, headers: answered, text, body }
  }

  const status = (paymentId: string): Promise<ApiResponse> =>
    call('GET', '/payments/status', {
      query: { api_key: apiKey, payment_details_id: paymentId },
    })

  return {
    subscriptionKey,
    apiKey,
    call,
    /** Sends a payment request; the transaction request is sent as it is. */
    request: (transactionRequest: Json, rest: Json = {}): Promise<ApiResponse> =>
      call('POST', '/payments/request', {
        body: { api_key: apiKey, transaction_request: transactionRequest, ...rest },
      }),
    status,
    cancel: (paymentId: string): Promise<ApiResponse> =>
      call('POST', '/payments/cancel', {
        body: { api_key: apiKey, payment_details_id: paymentId },
      }),
    /** Makes a payment request that must be accepted. Repeats one that was not answered in time, as the SDKs do: it is made once. */
    async create(transactionRequest: Json, rest: Json = {}): Promise<Created> {
      const answer = await eventually(
        () => this.request(transactionRequest, rest),
        ({ status: code, text }) => expect([503, 504], text).not.toContain(code),
      )
      expect(answer.body, answer.text).toMatchObject({ status: 'success', code: 200 })
      return createdOf(answer)
    },
    /** The state of a payment once it is the wanted one. */
    stateIs: (paymentId: string, state: string, withinMs?: number): Promise<ApiResponse> =>
      eventually(
        () => status(paymentId),
        (answer) => expect(detailsOf(answer)['status'], answer.text).toBe(state),
        withinMs,
      ),
  }
}

export type Merchant = ReturnType<typeof merchant>

/** What a merchant learns from an accepted payment request. */
export type Created = { answer: ApiResponse; id: string; urls: string[] }

/** Reads an accepted payment request. */
export function createdOf(answer: ApiResponse): Created {
  const { id, payers } = detailsOf(answer) as { id: string; payers: { url: string }[] }
  return { answer, id, urls: payers.map(({ url }) => url) }
}

export function detailsOf({ body }: ApiResponse): Json {
  return (body['payment_details'] ?? {}) as Json
}

/** The payers' states as GET status returns them, in order. */
export function payerStatesOf({ body }: ApiResponse): unknown[] {
  return (body['payers'] as Json[]).map((payer) => payer['status'])
}

const stopwatch = startStopwatch()
/** As long as the machine may stand still before the deadlines of the product pass by that. */
const stallMs = 1_000
/** A standstill so shortly before a request still fails it: connections that looked dead are made again. */
const lookBackMs = 5_000
const lookMs = 250
/** How often a request is sent at most. */
const maxSends = 3

type Exchanged = { status: number; headers: Headers; text: string }

/**
 * Sends a request. The deadlines of the product pass while the machine stands still: then, and shortly after, it is sent again with the
 * same id, as the contract says of 503 and 504, up to `maxSends` times. If nothing stood still, such an answer is the answer.
 */
export async function exchange(url: URL, init: RequestInit): Promise<Exchanged> {
  for (let sends = 1; ; sends++) {
    const [stoodMs = 0] = standstills
    const answer = await exchangeOnce(url, init)
    const isLate = answer.status === 503 || answer.status === 504
    if (!isLate || sends === maxSends || standstillMs() - stoodMs < stallMs) return answer
  }
}

/** Sends what must not be sent twice. */
export async function exchangeOnce(url: URL, init: RequestInit): Promise<Exchanged> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(20_000) })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** For how long this process has not had its turns; compare two readings. */
function standstillMs(): number {
  return performance.now() - stopwatch.elapsedMs()
}

/** The readings of the last seconds, the oldest first. */
const standstills = [standstillMs()]
setInterval(() => {
  standstills.push(standstillMs())
  if (standstills.length > lookBackMs / lookMs) standstills.shift()
}, lookMs).unref()

function given(values: Record<string, string | undefined>): [string, string][] {
  return Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined)
}

/** PW-request-date of a moment. */
export function requestDate(date = new Date()): string {
  return date.toISOString().slice(0, 19).replace('T', ' ')
}

/** The number of person NN of the sandbox. */
export function person(nn: number): string {
  return `+120255501${String(nn).padStart(2, '0')}`
}

/** A number that nobody else uses: its owner acts by hand. */
export function strangersNumber(): string {
  return `+1868${randomInt(2_000_000, 9_999_999)}`
}

/** A payer who pays by wallet on a link, if nothing else is said. */
export function payer(nn: number, more: Json = {}): Json {
  return {
    mobile_number: person(nn),
    payment_channel: 'payment_link',
    payment_method: 'wallet',
    ...more,
  }
}

/** A transaction request for one payer who acts by hand, if nothing else is said. */
export function order(more: Json = {}): Json & { id: string } {
  return { id: unique('order'), amount: '100.00', currency: 'TTD', payers: [payer(20)], ...more }
}

type ReceiverKind = 'ok' | 'fail' | 'flaky' | 'slow' | 'redirect' | 'gone'

/** A push as its receiver saw it. */
export type Push = {
  path: string
  headers: Record<string, string>
  body: string
  received_time: string
}

/** A receiver of pushes at the simulator, with a tag of its own for notifies and one for callbacks. */
export function receiver(mesh: Pick<SharedMesh, 'sandbox'>, kind: ReceiverKind = 'ok') {
  const base = mesh.sandbox.simulator_url
  const tag = unique('tag')
  const tags = { notify: `${tag}-notify`, callback: `${tag}-callback` }
  const log = (which: keyof typeof tags): Promise<Push[]> => receivedBy(base, tags[which])
  return {
    tags,
    /** `urls` of a payment request. */
    urls: {
      notify: `${base}/receivers/${kind}/${tags.notify}`,
      callback: `${base}/receivers/${kind}/${tags.callback}`,
    },
    notifies: () => log('notify'),
    callbacks: () => log('callback'),
    /** The different notifies that came in, once these event types are among them, as often as named. */
    async awaitNotifies(wanted: string[], withinMs?: number): Promise<Json[]> {
      const pushes = await eventually(
        () => log('notify'),
        (now) => expect(missingOf(wanted, eventTypes(now))).toEqual([]),
        withinMs,
      )
      return distinct(pushes).map((body) => documentedPush('notify', body))
    },
    /** The received callbacks, by sequence, once there are `count`. */
    async calledBack(count: number, withinMs?: number): Promise<Json[]> {
      const pushes = await eventually(
        () => log('callback'),
        (now) => expect(distinct(now).length).toBeGreaterThanOrEqual(count),
        withinMs,
      )
      return distinct(pushes)
        .map((body) => documentedPush('callback', body))
        .toSorted((one, other) => Number(one['sequence']) - Number(other['sequence']))
    },
  }
}

export type Receiver = ReturnType<typeof receiver>

function documentedPush(name: 'notify' | 'callback', text: string): Json {
  const body = JSON.parse(text) as Json
  expectDocumentedPush(name, body)
  return body
}

/** What the simulator's receivers took under a tag. */
export async function receivedBy(simulatorUrl: string, tag: string): Promise<Push[]> {
  const answer = await fetch(`${simulatorUrl}/receivers/log?tag=${encodeURIComponent(tag)}`)
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { requests: Push[] }).requests
}

export function jsonOf({ body }: Push): Json {
  return JSON.parse(body) as Json
}

export function eventTypeOf(push: Push): unknown {
  return jsonOf(push)['event_type']
}

/** Pushes are sent at least once: the different bodies among them. */
export function distinct(pushes: Push[]): string[] {
  return [...new Set(pushes.map(({ body }) => body))]
}

/** What of a list is not in another, each item counted. */
function missingOf(wanted: string[], found: string[]): string[] {
  const left = [...found]
  return wanted.filter((item) => {
    const index = left.indexOf(item)
    if (index >= 0) left.splice(index, 1)
    return index < 0
  })
}

/** The event types of different notifies, sorted. */
export function eventTypes(pushes: Push[]): string[] {
  return distinct(pushes)
    .map((body) => String((JSON.parse(body) as Json)['event_type']))
    .toSorted()
}

export const isoPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
export const dateTimePattern = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/
