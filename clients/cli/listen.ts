// The command that receives pushes on this machine, prints them and forwards them; listens on loopback only.
import http from 'node:http'
import type { Command, CommandContext } from './command.ts'
import { printable } from './output/print.ts'
import { wholeNumber } from './parser/whole-number.ts'
import { UsageError } from './usage-error.ts'

const maxBodyBytes = 1_048_576
/** As long as a receiver has to respond. */
const forwardWithinMs = 15_000

/** `listen`. */
export const listenCommand: Command = {
  name: 'listen',
  operands: '',
  summary: 'Receives pushes on 127.0.0.1 and prints or forwards them, until Ctrl-C.',
  options: {
    'forward-to':
      'URL of your handler: it gets each push as it came, and its status is the response',
    port: 'port to listen on (9000; 0: any free port)',
    status: 'HTTP status of the response (200)',
    count: 'exit after this many pushes',
  },
  run: listen,
}

async function listen({ options, json, print, warn, stopping }: CommandContext): Promise<void> {
  const port = options['port'] === '0' ? 0 : wholeNumber(options['port'] ?? '9000', 'port', 65_535)
  const status = wholeNumber(options['status'] ?? '200', 'status', 599)
  if (status < 200) throw new UsageError('--status must be a whole number from 200 to 599')
  const handler = handlerUrl(options['forward-to'])
  const most =
    options['count'] === undefined ? undefined : wholeNumber(options['count'], 'count', 1e9)
  const { promise: enough, resolve: finish } = Promise.withResolvers<void>()
  let count = 0
  const server = http.createServer((request, response) => {
    void receive(request, response)
  })

  async function receive(request: http.IncomingMessage, response: http.ServerResponse) {
    const body = await readBody(request).catch(() => undefined)
    const respond = (code: number) =>
      response.writeHead(code, { 'content-type': 'text/plain' }).end()
    if (body === undefined) {
      respond(413)
      return
    }
    if (count === most) {
      // What comes after the last one is for the next listener.
      respond(503)
      return
    }
    count += 1
    for (const line of json ? [pushJson(request, body)] : pushLines(request, body)) print(line)
    const forwarded = handler && (await forward(handler, request, body, stopping))
    if (forwarded !== undefined) warn(`${handler?.href}: ${forwarded.says}`)
    respond(forwarded?.status ?? status)
    if (count === most) finish()
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address()
  warn(`listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`)
  stopping.addEventListener('abort', () => finish(), { once: true })
  await enough
  await new Promise((resolve) => {
    server.close(resolve)
    setTimeout(() => server.closeAllConnections(), 200).unref()
  })
}

function handlerUrl(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return new URL(text)
  throw new UsageError('--forward-to must be an http or https URL')
}

/** Headers that belong to one connection. */
const ofConnection = new Set(
  'connection content-length host keep-alive transfer-encoding'.split(' '),
)

/** Sends a push on as it came. A handler that cannot be reached is 502, so that the push is retried. */
async function forward(
  handler: URL,
  request: http.IncomingMessage,
  body: string,
  stopping: AbortSignal,
): Promise<{ status: number; says: string }> {
  const headers = headersOf(request).filter(([name]) => !ofConnection.has(name))
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(forwardWithinMs)])
  try {
    const answer = await fetch(handler, {
      method: 'POST',
      headers,
      body,
      signal,
      redirect: 'manual',
    })
    await answer.body?.cancel()
    return { status: answer.status, says: `HTTP ${answer.status}` }
  } catch (error) {
    const { cause, message } = error as Error
    return { status: 502, says: cause instanceof Error ? cause.message : message }
  }
}

async function readBody(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new RangeError('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** The headers as they were sent, with repeated names. */
function headersOf({ rawHeaders }: http.IncomingMessage): [string, string][] {
  return rawHeaders.flatMap((text, index) =>
    index % 2 === 0 ? [[text.toLowerCase(), rawHeaders[index + 1] ?? ''] as [string, string]] : [],
  )
}

function pushJson(request: http.IncomingMessage, body: string): string {
  const { method, url } = request
  const time = new Date().toISOString()
  return JSON.stringify({ time, method, path: url, headers: headersOf(request), body })
}

function pushLines(request: http.IncomingMessage, body: string): string[] {
  return [
    `${new Date().toISOString()}  ${request.method ?? ''} ${printable(request.url ?? '')}`,
    ...headersOf(request).map(([name, value]) => `  ${printable(name)}: ${printable(value)}`),
    ...prettyBody(body).map((line) => `  ${line}`),
    '',
  ]
}

function clean(line: string): string {
  return line.replaceAll(/\p{C}/gu, '?')
}

/** Line by line: the body's own line breaks are the only control characters that reach the terminal. */
function prettyBody(body: string): string[] {
  try {
    return JSON.stringify(JSON.parse(body), null, 2).split('\n').map(clean)
  } catch {
    return body.split(/\r?\n/).map(clean)
  }
}
