// Makes one POST over a guarded, kept-alive connection and reads a bounded response, without retries or redirects.

import { performance } from 'node:perf_hooks'
import type { Dispatcher } from 'undici'
import { readPushUrl } from '#core/text/push-url.ts'
import { type PostEnd, parseRetryAfter } from '../domain/delivery.ts'
import { type Connection, createConnections } from './connections.ts'
import { EgressBlocked, type EgressRule } from './egress.ts'

/** How the poster behaves. */
export interface PosterOptions extends EgressRule {
  /** For the whole attempt: name, connection, request and answer. */
  timeoutMs: number
  /** Sent as Payweave/<version>. */
  version: string
}

/** Posts bodies. Connections are kept for a few seconds, each for one receiver. */
export interface Poster {
  /** Never throws. An aborted POST has the outcome `unknown`. */
  post(
    url: string,
    body: Buffer,
    signal: AbortSignal,
    /** Sent beside those of every push. */
    extraHeaders?: Record<string, string>,
  ): Promise<PostEnd>
  close(): Promise<void>
}

const readBytes = 16 * 1_024
const keptBytes = 4 * 1_024

/** Makes a poster with a pool of connections of its own. */
export function createPoster(options: PosterOptions): Poster {
  const pool = createConnections(options)
  const headers = {
    'content-type': 'application/json',
    'user-agent': `Payweave/${options.version}`,
    'accept-encoding': 'identity',
  }

  const post: Poster['post'] = async (url, body, signal, extraHeaders) => {
    const startedAt = performance.now()
    const target = readPushUrl(url, options)
    if (typeof target === 'string') return { outcome: 'blocked', error: 'url', totalMs: 0 }
    const { origin } = target
    const connection = pool.take(origin)
    const fresh = connection.facts.peerAddress === undefined
    const timer = createTimer(options.timeoutMs, signal)
    const end = await exchange(connection, timer, {
      method: 'POST',
      path: `${target.pathname}${target.search}`,
      headers: extraHeaders === undefined ? headers : { ...headers, ...extraHeaders },
      body,
    })
    timer.stop()
    pool.put(origin, connection, end.reusable)
    const { peerAddress, resolveMs, connectMs } = connection.facts
    return {
      ...end.result,
      peerAddress,
      ...(fresh ? { resolveMs, connectMs } : {}),
      totalMs: Math.round(performance.now() - startedAt),
    }
  }

  return { post, close: pool.close }
}

/** Why an attempt is cut off, besides an error of its connection. */
type Cut = 'timed_out' | 'unknown'

interface Timer {
  /** Has `work` called when it fires, at once if it has fired. */
  onFired(work: () => void): void
  /** Why it fired, if it did. */
  cause(): Cut | undefined
  stop(): void
}

function createTimer(timeoutMs: number, stopping: AbortSignal): Timer {
  let cause: Cut | undefined
  let onFired: (() => void) | undefined
  const fire = (why: Cut) => {
    cause ??= why
    onFired?.()
  }
  const timer = setTimeout(fire, timeoutMs, 'timed_out')
  const stopped = onAbort(stopping, () => fire('unknown'))
  return {
    onFired(work) {
      onFired = work
      if (cause !== undefined) work()
    },
    cause: () => cause,
    stop() {
      clearTimeout(timer)
      stopped.forget()
    },
  }
}

const aborted = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `work` when the signal is aborted, at once if it is. One listener serves all attempts: a signal looks through its listeners
 * each time one is added or removed.
 */
function onAbort(signal: AbortSignal, work: () => void): { forget(): void } {
  if (signal.aborted) work()
  const known = aborted.get(signal)
  const all = known ?? new Set()
  if (known === undefined) {
    aborted.set(signal, all)
    signal.addEventListener('abort', () => {
      for (const one of all) one()
    })
  }
  all.add(work)
  return { forget: () => all.delete(work) }
}

type Exchanged = { result: Omit<PostEnd, 'totalMs'>; reusable: boolean }

/** The part of a response that has been received so far. */
type ReceivedResponse = {
  status: number
  retryAfter: string | string[] | undefined
  firstByteMs: number
  /** The first 4 KiB of the body. */
  kept: Buffer[]
  bytes: number
}

/** Reads up to 16 KiB of the answer, keeps the first 4, and drops the rest together with the connection. Never rejects. */
function exchange(
  { client }: Connection,
  timer: Timer,
  request: Dispatcher.DispatchOptions,
): Promise<Exchanged> {
  const startedAt = performance.now()
  const { promise, resolve } = Promise.withResolvers<Exchanged>()
  let sending: Dispatcher.DispatchController | undefined
  let answer: ReceivedResponse | undefined
  const fail = (error: Error): void =>
    resolve({ result: answer ? resultOf(answer) : failureOf(error, timer), reusable: false })
  timer.onFired(() => (sending === undefined ? fail(cut) : sending.abort(cut)))
  client.dispatch(request, {
    onRequestStart(controller) {
      sending = controller
      if (timer.cause() !== undefined) controller.abort(cut)
    },
    onResponseStart(_controller, status, headers) {
      // Informational ones come before the answer.
      if (status < 200) return
      const firstByteMs = Math.round(performance.now() - startedAt)
      answer = { status, retryAfter: headers['retry-after'], firstByteMs, kept: [], bytes: 0 }
    },
    onResponseData(controller, chunk) {
      if (answer === undefined) return
      if (answer.bytes < keptBytes) answer.kept.push(chunk.subarray(0, keptBytes - answer.bytes))
      answer.bytes += chunk.length
      if (answer.bytes > readBytes) controller.abort(cut)
    },
    onResponseEnd() {
      if (answer !== undefined) resolve({ result: resultOf(answer), reusable: true })
    },
    onResponseError: (_controller, error) => fail(error),
  })
  return promise
}

/** Why an exchange of ours is cut off; the timer knows more. */
const cut = new Error('cut off')

/** The status alone decides, even when the rest of the answer never comes. */
function resultOf({
  status,
  retryAfter,
  firstByteMs,
  kept,
}: ReceivedResponse): Exchanged['result'] {
  const isAccepted = status >= 200 && status < 300
  return {
    outcome: isAccepted ? 'delivered' : 'refused',
    status,
    retryAfterS: parseRetryAfter(
      Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
      new Date(),
    ),
    answer: Buffer.concat(kept),
    ...(isAccepted ? {} : { error: `http_${status}` }),
    firstByteMs,
  }
}

function failureOf(error: unknown, timer: Timer): Omit<PostEnd, 'totalMs'> {
  if (error instanceof EgressBlocked) return { outcome: 'blocked', error: error.cause }
  const cause = timer.cause()
  if (cause !== undefined) {
    return { outcome: cause, error: cause === 'timed_out' ? 'timeout' : 'stopped' }
  }
  const code = (error as { code?: unknown }).code
  const word = typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'failed'
  return { outcome: 'connection_failed', error: word.toLowerCase() }
}
