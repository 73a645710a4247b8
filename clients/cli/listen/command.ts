// The command that receives pushes on this machine, or follows those of any deployment, and prints and forwards them.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { merchantKeyOptions } from '../api/merchant.ts'
import type { Command, CommandContext } from '../command.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { followPushes } from './follow.ts'
import { forward, handlerUrl, type ReceivedPush, showPush } from './push.ts'

const maxBodyBytes = 1_048_576

/** `listen`. */
export const listenCommand: Command = {
  name: 'listen',
  operands: '',
  summary:
    "Receives pushes on 127.0.0.1 and prints or forwards them, until Ctrl-C; with --base-url it reads the merchant's pushes from the public API with the merchant's keys, and opens no port.",
  example: 'listen --base-url https://pay.example.com --forward-to http://127.0.0.1:3000/pushes',
  options: {
    'forward-to':
      'URL of your handler: it gets each push as it came, and its status is the response',
    ...merchantKeyOptions,
    port: 'port to listen on (9000; 0: any free port)',
    status: 'HTTP status of the response (200)',
    count: 'exit after this many pushes',
  },
  run: (context) => {
    const { options } = context
    // Not by variables alone: they are set where a local start posts to this command too.
    const isFollowing =
      options['base-url'] !== undefined || options['subscription-key'] !== undefined
    return isFollowing ? followPushes(context) : listen(context)
  },
}

async function listen(context: CommandContext): Promise<void> {
  const { options, env, warn, stopping } = context
  const port = options['port'] === '0' ? 0 : wholeNumber(options['port'] ?? '9000', 'port', 65_535)
  const status = wholeNumber(options['status'] ?? '200', 'status', 599)
  if (status < 200) throw new UsageError('--status must be a whole number from 200 to 599')
  const handler = handlerUrl(options['forward-to'])
  const maxCount =
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
    if (count === maxCount) {
      // What comes after the last one is for the next listener.
      respond(503)
      return
    }
    count += 1
    const push = pushOf(request, body)
    showPush(context, push)
    const forwarded = handler && (await forward(handler, push, stopping))
    if (forwarded !== undefined) warn(`${handler?.href}: ${forwarded.says}`)
    respond(forwarded?.status ?? status)
    if (count === maxCount) finish()
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address()
  warn(`listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`)
  const folder = path.resolve(env['PAYWEAVE_DATA_DIR'] ?? '.payweave')
  if (!fs.existsSync(path.join(folder, 'sandbox.json'))) {
    warn(
      `${folder} has no sandbox.json. Only a local start can post to this address; for another deployment, pass --base-url and the keys of a merchant`,
    )
  }
  stopping.addEventListener('abort', () => finish(), { once: true })
  await enough
  await new Promise((resolve) => {
    server.close(resolve)
    setTimeout(() => server.closeAllConnections(), 200).unref()
  })
}

function pushOf(request: http.IncomingMessage, body: string): ReceivedPush {
  const { method = '', url = '' } = request
  return { method, path: url, headers: headersOf(request), body }
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
