// A server that answers as a test wants, and requests as it saw them, for the tests of the SDKs. No test logic here.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { afterEach, expect } from 'vitest'
import { createPayweave, type PayweaveOptions } from '../../clients/sdk-typescript/index.ts'
import { serveHttp } from '../support/http-server.ts'

/** A request as the server saw it. */
export type Seen = { method: string; url: URL; headers: IncomingHttpHeaders; body: string }

/** What the server does about a request: it answers, breaks the connection, or never answers. */
export type Reply =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | 'break'
  | 'hang'

const closers: Array<() => void> = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** The options of a client but for its address. */
export const credentials = {
  subscriptionKey: 'pwk_test_0123456789abcdefghijklm',
  apiKey: 'key',
  originCountry: 'TT',
  ipAddress: '203.0.113.7',
}

/** A client of a server that gives the replies, as `serveReplies` does, and the requests that it sends. */
export async function against(replies: Reply[], options: Partial<PayweaveOptions> = {}) {
  const { seen, baseUrl } = await serveReplies(...replies)
  return { seen, payweave: createPayweave({ ...credentials, baseUrl, ...options }) }
}

/** The error of a call, which must not be answered. */
export async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => expect.fail('it was answered'),
    (error: unknown) => error,
  )
}

/** An error as the API writes it. */
export function refused(status: number, errorCode: string, more: object = {}): Reply {
  return { status, body: { status: 'error', code: status, message: 'no', errorCode, ...more } }
}

/** A server that gives the replies one after the other, and the last one for ever. */
export async function serveReplies(...replies: Reply[]) {
  const seen: Seen[] = []
  const server = await serveHttp((request, answer) => {
    const reply = replies[Math.min(seen.length, replies.length - 1)] ?? 'hang'
    const { method = '', headers } = request
    const url = new URL(request.url ?? '', 'http://127.0.0.1')
    const one: Seen = { method, url, headers, body: '' }
    seen.push(one)
    request.setEncoding('utf8').on('data', (part: string) => {
      one.body += part
    })
    request.on('end', () => send(reply, answer))
  })
  closers.push(server.close)
  return { seen, baseUrl: server.baseUrl }
}

function send(reply: Reply, answer: ServerResponse): void {
  if (reply === 'hang') return
  if (reply === 'break') {
    answer.destroy()
    return
  }
  const { status, body = {}, headers = {} } = reply
  answer.writeHead(status, { 'content-type': 'application/json', ...headers })
  answer.end(typeof body === 'string' ? body : JSON.stringify(body))
}
