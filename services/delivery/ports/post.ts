// Makes one POST over a guarded, kept-alive connection and reads a bounded response, without retries or redirects.

import { performance } from 'node:perf_hooks'
import type { Dispatcher } from 'undici'
import { checkPushUrl } from '#core/text/push-url.ts'
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
    if (checkPushUrl(url, options) !== undefined) {
      return { outcome: 'blocked', error: 'url', totalMs: 0 }
    }
    const target = new URL(url)
    const connection = pool.take(target.origin)
    const fresh = connection.facts.peerAddress === undefined
    const timer = createTimer(options.timeoutMs, signal)
    const end = await exchange(connection, timer, {
      method: 'POST',
      path: `${target.pathname}${target.search}`,
      headers: extraHeaders === undefined ? headers : { ...headers, ...extraHeaders },
      body,
      signal: timer.signal,
    })
    timer.stop()
    pool.put(target.origin, connection, end.reusable)
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

interface Timer {
  signal: AbortSignal
  /** Why it fired, if it did. */
  cause(): 'timed_out' | 'unknown' | undefined
  stop(): void
}

function createTimer(timeoutMs: number, stopping: AbortSignal): Timer {
  const abort = new AbortController()
  let cause: 'timed_out' | 'unknown' | undefined
  const fire = (why: 'timed_out' | 'unknown') => {
    cause ??= why
    abort.abort()
  }
  const onStop = () => fire('unknown')
  const timer = setTimeout(fire, timeoutMs, 'timed_out')
  if (stopping.aborted) onStop()
  else stopping.addEventListener('abort', onStop)
  return {
    signal: abort.signal,
    cause: () => cause,
    stop() {
      clearTimeout(timer)
      stopping.removeEventListener('abort', onStop)
    },
  }
}

type Exchanged = { result: Omit<PostEnd, 'totalMs'>; reusable: boolean }

async function exchange(
  { client }: Connection,
  timer: Timer,
  request: Dispatcher.RequestOptions,
): Promise<Exchanged> {
  const startedAt = performance.now()
  let response: Dispatcher.ResponseData
  try {
    response = await client.request(request)
  } catch (error) {
    return { result: failureOf(error, timer), reusable: false }
  }
  const firstByteMs = Math.round(performance.now() - startedAt)
  const { statusCode: status, headers } = response
  const retryAfter = headers['retry-after']
  const { answer, whole } = await readSome(response.body)
  return {
    result: {
      // The status alone decides, even when the rest of the answer never comes.
      outcome: status >= 200 && status < 300 ? 'delivered' : 'refused',
      status,
      retryAfterS: parseRetryAfter(
        Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
        new Date(),
      ),
      answer,
      ...(status >= 200 && status < 300 ? {} : { error: `http_${status}` }),
      firstByteMs,
    },
    reusable: whole,
  }
}

/** Reads up to 16 KiB, keeps the first 4, and drops the rest together with the connection. */
async function readSome(
  body: Dispatcher.ResponseData['body'],
): Promise<{ answer: Buffer; whole: boolean }> {
  const kept: Buffer[] = []
  let bytes = 0
  let whole = true
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (bytes < keptBytes) kept.push(chunk.subarray(0, keptBytes - bytes))
      bytes += chunk.length
      if (bytes > readBytes) {
        whole = false
        break
      }
    }
  } catch {
    whole = false
  }
  return { answer: Buffer.concat(kept), whole }
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
