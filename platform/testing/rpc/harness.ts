// A server and its callers for the tests of this folder; for tests only.

import { createHash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { ServiceImpl } from '@connectrpc/connect'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { createLogger } from '#platform/telemetry/log.ts'
import { openIdentity } from '../../rpc/auth/identity.ts'
import { type Bearer, writeIdentities } from '../../rpc/auth/trust.ts'
import { type ServeRpcOptions, serveRpc } from '../../rpc/server/server.ts'
import { ruleFreeRouter } from './rule-free.ts'

/** The credential of the bearer `auditor`, who may call everything on InboxService. */
export const bearerCredential = 'auditor-credential-0123456789'

/**
 * Makes a folder of identities for a few processes and one bearer, which may have bounds or other methods; the run of the tests removes it.
 * Throws an Error outside of such a run.
 */
export function newSecrets(bounds: Partial<Bearer> = {}): string {
  const { TEST_FOLDER: folder } = process.env
  if (folder === undefined) throw new Error('TEST_FOLDER is not set: run tests by vitest')
  const dir = mkdtempSync(join(folder, 'rpc-'))
  const sha256 = createHash('sha256').update(bearerCredential).digest('hex')
  writeIdentities(
    dir,
    ['delivery', 'payments', 'gateway', 'stranger'],
    [{ name: 'auditor', sha256, rpcs: ['payweave.events.v1.InboxService/*'], ...bounds }],
  )
  return dir
}

/** A logger at `debug` with the lines that it wrote. */
export function listeningLog() {
  const lines: Array<Record<string, unknown>> = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  return { lines, log: createLogger({ part: 'delivery', level: 'debug', destination }) }
}

/** Starts `delivery` serving InboxService with this handler on a free port. Rejects as `serveRpc` does. The caller closes `server`. */
export async function startInbox(
  seen: ServiceImpl<typeof InboxService>['seen'],
  options: Partial<ServeRpcOptions> = {},
) {
  const dir = newSecrets()
  const { lines, log } = listeningLog()
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log })
  const server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    routes: (router) => ruleFreeRouter(router).service(InboxService, { seen }),
    identity: identityOf('delivery'),
    log,
    ...options,
  })
  return { server, url: `http://127.0.0.1:${server.port}`, identityOf, lines, dir, log }
}

/** What a handler saw of an upload. */
export type SeenUpload = { parts: number; bytes: number; ended: boolean; error?: unknown }

/**
 * Starts `delivery` accepting uploads, whose handler answers with the number of bytes. `onPart` may throw to refuse.
 * The caller closes `server`.
 */
export async function startUploads(onPart: (seen: SeenUpload) => void = () => undefined) {
  const dir = newSecrets()
  const { lines, log } = listeningLog()
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log })
  const seen: SeenUpload = { parts: 0, bytes: 0, ended: false }
  const over = Promise.withResolvers<void>()
  const server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: identityOf('delivery'),
    log,
    routes: (router) =>
      ruleFreeRouter(router).service(AccountsService, {
        async uploadPersonalAccount(parts) {
          try {
            for await (const { part } of parts) {
              seen.parts += 1
              if (part.case === 'chunk') seen.bytes += part.value.length
              onPart(seen)
            }
            seen.ended = true
            return { mobileNumberAsSent: String(seen.bytes) }
          } catch (error) {
            seen.error = error
            throw error
          } finally {
            over.resolve()
          }
        },
      }),
  })
  return { server, identityOf, seen, lines, over: over.promise }
}
