// A process that simulates many receivers of pushes, some of them dead, and records arrivals; kept cheap.
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'

/** What the process is asked. */
export type ReceiversJob =
  | { kind: 'listen'; alive: number; silent: number; closed: number }
  /** Forget what came in, and report when `count` different paths have been called. */
  | { kind: 'expect'; count: number }
  | { kind: 'report' }

/** The messages that it sends. Times are milliseconds since the epoch. */
export type ReceiversMessage =
  | { kind: 'listening'; alive: string[]; silent: string[]; closed: string[] }
  | { kind: 'reached'; atMs: number }
  | { kind: 'arrivals'; arrivals: [path: string, atMs: number][] }

const arrivals = new Map<string, number>()
let expected = Number.POSITIVE_INFINITY

process.on('message', (job: ReceiversJob) => void answer(job))
process.once('disconnect', () => process.exit())

async function answer(job: ReceiversJob): Promise<void> {
  if (job.kind === 'listen') {
    // Each has an address of its own: the limits are by hostname too.
    const [alive, silent, closed] = await Promise.all([
      all(job.alive, (n) => listen(http.createServer(take), `127.0.0.${n + 1}`)),
      all(job.silent, (n) => listen(http.createServer(), `127.0.1.${n + 1}`)),
      all(job.closed, (n) => closedPort(`127.0.2.${n + 1}`)),
    ])
    notifyParent({ kind: 'listening', alive, silent, closed })
  } else if (job.kind === 'expect') {
    arrivals.clear()
    expected = job.count
  } else notifyParent({ kind: 'arrivals', arrivals: [...arrivals] })
}

function notifyParent(message: ReceiversMessage): void {
  process.send?.(message)
}

function all(count: number, make: (n: number) => Promise<string>): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => make(n)))
}

/** Answers when the body is there, as a receiver does that stores it. */
function take(request: http.IncomingMessage, response: http.ServerResponse): void {
  request.on('end', () => {
    note(request.url ?? '')
    response.end('{"ok":true}')
  })
  request.resume()
}

function note(path: string): void {
  if (arrivals.has(path)) return
  const atMs = performance.timeOrigin + performance.now()
  arrivals.set(path, atMs)
  if (arrivals.size === expected) notifyParent({ kind: 'reached', atMs })
}

async function listen(server: net.Server, host: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

async function closedPort(host: string): Promise<string> {
  const server = net.createServer()
  const url = await listen(server, host)
  await new Promise((resolve) => server.close(resolve))
  return url
}
