// A real server of ours and a client of it, for the tests of the client. No test logic here.
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach } from 'vitest'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { type ServeRpcOptions, serveRpc } from '#platform/rpc/server/server.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { ruleFreeRouter } from '#platform/testing/rpc/rule-free.ts'
import { createPayweaveClient, type PayweaveClientOptions } from '../../clients/grpc/index.ts'
import { temporaryFolder } from '../support/servers.ts'

export const token = 'credential-of-an-internal-team-0123456789'
export const otherToken = 'another-credential-of-that-team-0123456789'

const folder = temporaryFolder('client')
const bearers = [token, otherToken].map((secret, index) => ({
  name: `team-${index}`,
  sha256: createHash('sha256').update(secret).digest('hex'),
  rpcs: ['*'],
}))
writeIdentities(folder, ['payments'], bearers)
afterAll(() => rmSync(folder, { recursive: true }))

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Closes something when the test is over, the last first. */
export function atEnd(close: () => unknown): void {
  closers.push(close)
}

/** A server of the given services, without their rules, on a free port or on a given one. */
export async function serve(
  routes: ServeRpcOptions['routes'],
  { port = 0, ...options }: Partial<ServeRpcOptions> = {},
) {
  const log = createLogger({ part: 'payments', level: 'fatal', destination: { write() {} } })
  const server = await serveRpc({
    host: '127.0.0.1',
    port,
    routes: (router) => routes(ruleFreeRouter(router)),
    identity: openIdentity({ name: 'payments', dir: join(folder, 'payments'), log }),
    log,
    graceMs: 100,
    ...options,
  })
  atEnd(() => server.close())
  return { url: `http://127.0.0.1:${server.port}`, port: server.port, close: () => server.close() }
}

/** A client with a valid bearer that asks all services at one address. */
export function connect(address: string, options: Partial<PayweaveClientOptions> = {}) {
  const given = options.tokenFile === undefined ? { token } : {}
  const client = createPayweaveClient({ address, ...given, ...options })
  atEnd(() => client.close())
  return client
}

/** The context of the call that a handler is answering. */
export function callContext() {
  const context = currentContext()
  if (context === undefined) throw new Error('no call is being answered')
  return context
}

/** What a call that must fail throws. */
export async function errorOf<T>(call: Promise<T>): Promise<unknown> {
  return await call.then(
    () => {
      throw new Error('was answered')
    },
    (error: unknown) => error,
  )
}
