// The merchant's servers for pushes: they note every push, and misbehave on request.
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SandboxFile } from '../../../deploy/local/sandbox-file.ts'
import { expectDocumentedPush } from '../../../test/support/openapi.ts'
import { institutionName, type Json, problemOf } from './api.ts'
import type { Push } from './records.ts'

/** How a receiver answers. `lies`: redirects, breaks off, talks no HTTP, or sends a body without end. */
export type Behaviour = 'accepts' | 'fails' | 'hangs' | 'lies'

/** A server of the merchant. */
export type Receiver = {
  urls: { notify: string; callback: string }
  behave(behaviour: Behaviour): void
  /** Refuses connections until it is started again. */
  die(): Promise<void>
  start(): Promise<void>
}

/** All servers of the merchant, and what came in. */
export type Receivers = {
  all: readonly Receiver[]
  pushes: Push[]
  /** What a request for an account sends, to be called back. */
  onboarding: { callback_url: string; authorisation_token: string }
  close(): Promise<void>
}

const authorisationToken = 'campaign-callback-token'
const failures = [500, 502, 503, 429, 404]
const endlessBytes = 512 * 1024

/** Starts as many servers, on ports of their own. The last one gets the callbacks of accounts. */
export async function startReceivers(
  count: number,
  sandbox: () => SandboxFile,
): Promise<Receivers> {
  const pushes: Push[] = []
  const note = (push: Push) => void pushes.push(push)
  const secret = () => sandbox().institutions[institutionName].signing_secret
  const all = await Promise.all(Array.from({ length: count }, () => startReceiver(note, secret)))
  return {
    all,
    pushes,
    onboarding: {
      callback_url: all.at(-1)?.urls.callback.replace(/callback$/, 'onboarding') ?? '',
      authorisation_token: authorisationToken,
    },
    close: async () => {
      await Promise.all(all.map((one) => one.die()))
    },
  }
}

async function startReceiver(note: (push: Push) => void, secret: () => string): Promise<Receiver> {
  let behaviour: Behaviour = 'accepts'
  let count = 0
  const held = new Set<http.ServerResponse>()
  const listener: http.RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    request.on('end', () => {
      count += 1
      const accepted = answer(behaviour, count, response, held)
      note({ ...pushOf(request, Buffer.concat(chunks), secret), accepted })
    })
  }
  let port = 0
  let server = http.createServer(listener)
  const listen = async (): Promise<void> => {
    server = http.createServer(listener)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }
  await listen()
  const base = `http://127.0.0.1:${port}`
  return {
    urls: { notify: `${base}/notify`, callback: `${base}/callback` },
    behave(next) {
      behaviour = next
      if (next === 'hangs') return
      for (const response of held) response.destroy()
      held.clear()
    },
    async die() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
    start: listen,
  }
}

/** Answers a push; returns whether it was accepted. */
function answer(
  behaviour: Behaviour,
  count: number,
  response: http.ServerResponse,
  held: Set<http.ServerResponse>,
): boolean {
  switch (behaviour) {
    case 'accepts':
      response.writeHead(count % 3 === 0 ? 204 : 200).end()
      return true
    case 'fails':
      response.writeHead(failures[count % failures.length] ?? 500).end('{"error":"no"}')
      return false
    case 'hangs':
      held.add(response)
      return false
    default:
      return lie(count, response)
  }
}

/** Each lie in turn. Only a whole 2xx head accepts a push. */
function lie(count: number, response: http.ServerResponse): boolean {
  switch (count % 4) {
    case 0:
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
      return false
    case 1:
      response.destroy()
      return false
    case 2:
      response.socket?.end('this is no HTTP\r\n\r\n')
      return false
    default:
      response.writeHead(200).end(Buffer.alloc(endlessBytes, 'x'))
      return true
  }
}

function pushOf(
  request: http.IncomingMessage,
  bytes: Buffer,
  secret: () => string,
): Omit<Push, 'accepted'> {
  const { headers, url } = request
  const name =
    url === '/callback' || url === '/onboarding'
      ? (url.slice(1) as 'callback' | 'onboarding')
      : 'notify'
  const noted = {
    deliveryId: String(headers['pw-delivery-id']),
    digest: createHash('sha256').update(bytes).digest('hex'),
    receivedMs: Date.now(),
  }
  let what = 'not JSON'
  let subject = ''
  const problem = problemOf(() => {
    const body = JSON.parse(bytes.toString()) as Json
    ;({ what, subject } = readPush(name, body))
    expectDocumentedPush(name, body)
    if (name === 'onboarding') expectSigned(headers, bytes, secret())
  })
  return { ...noted, subject, what, ...(problem !== undefined && { undocumented: problem }) }
}

function readPush(name: 'notify' | 'callback' | 'onboarding', body: Json) {
  if (name === 'notify')
    return { what: String(body['event_type']), subject: String(body['transaction_id']) }
  if (name === 'callback') {
    const { id } = body['transaction_request'] as { id: string }
    return { what: `callback ${String(body['sequence'])} ${String(body['status'])}`, subject: id }
  }
  const { onboarding_status } = body['account'] as { onboarding_status: string }
  const { request_status: outcome = onboarding_status } = body as { request_status?: string }
  return { what: outcome, subject: String(body['request_id']) }
}

function expectSigned(headers: http.IncomingHttpHeaders, bytes: Buffer, secret: string): void {
  const [, time = '', given = ''] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['pw-signature'])) ?? []
  const wanted = createHmac('sha256', secret).update(`${time}.`).update(bytes).digest('hex')
  if (given !== wanted) throw new Error('the signature is not that of the body')
  if (headers['authorisation-token'] === undefined)
    throw new Error('there is no authorisation-token')
}
