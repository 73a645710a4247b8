// Services that read key lists from real files and serve what the commands on keys ask, on a database of their own.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { KeyRing } from '#core/identity/key-ring.ts'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { startProcessKeys } from '#platform/keys/key-service.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { lastingSecrets } from '../../deploy/bootstrap/lasting-secrets.ts'
import { startAccountKeys } from '../../services/accounts/access/operations/key-administration.ts'
import { linkDependants as receiptDependants } from '../../services/billing/store/link-key-store.ts'
import { linkDependants } from '../../services/payments/store/link-key-store.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'

/** The operator's bearer. */
export const token = 'operator-credential-0123456789'

/** Services whose stored values depend on keys. */
export const parts = ['accounts', 'payments', 'billing'] as const
export type Part = (typeof parts)[number]

/** A database with the schemas of all three, a folder, and copies of services on them. */
export async function startHarness() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-keys-'))
  const sha256 = createHash('sha256').update(token).digest('hex')
  const mesh = path.join(dir, 'mesh')
  writeIdentities(mesh, [...parts], [{ name: 'operator', sha256, rpcs: ['*'] }])
  const database = await createTestDatabase('accounts', migrationFolders('accounts'))
  for (const part of ['payments', 'billing'] as const) {
    await database.migrate(part, migrationFolders(part))
  }
  const open = (part: Part) => database.open({ service: part })
  const databases = {
    accounts: open('accounts'),
    payments: open('payments'),
    billing: open('billing'),
  }
  const copies: Copy[] = []
  const serve = (part: Part, routes: ServeOptions['routes']) =>
    serveRpc({
      host: '127.0.0.1',
      port: 0,
      identity: openIdentity({ name: part, dir: path.join(mesh, part), log: silentLog }),
      log: silentLog,
      routes,
    })
  return {
    dir,
    databases,
    serve,
    /** Starts a copy of a service that reads its lists from a folder. */
    async startCopy(part: Part, folder: string, instance: string): Promise<Copy> {
      const files = openKeys({ dir: folder, names: lastingSecrets[part] ?? [], log: silentLog })
      const keys = processKeys(part, databases[part], files, instance)
      const server = await serve(part, (router) => keys.routes(router))
      const copy = {
        url: `http://127.0.0.1:${server.port}`,
        files,
        async stop() {
          await server.close()
          await keys.close()
        },
      }
      copies.push(copy)
      return copy
    },
    /** The steps that the audit has, oldest first. */
    audit: () => databases.accounts.rows<AuditStep>(auditStatement, []),
    async stop() {
      for (const copy of copies) await copy.stop()
      await database.drop()
      fs.rmSync(dir, { recursive: true })
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>
type ServeOptions = Parameters<typeof serveRpc>[0]
type Files = ReturnType<typeof openKeys<string>>

/** A running copy of a service. */
export type Copy = { url: string; files: Files; stop(): Promise<void> }

type AuditStep = { action: string; file: string; key: string; unchecked: string | null }

const auditStatement = sql(
  'test_key_steps',
  `select action, details ->> 'file' as file, target_id as key, details ->> 'unchecked' as unchecked
   from access_audit where caller = 'operator' order by occurred_at`,
)

function processKeys(part: Part, db: Database, files: Files, instance: string) {
  const options = { db, files, log: silentLog, instance }
  if (part === 'accounts') {
    return startAccountKeys({
      ...options,
      files: files as Files & Record<'seal.key', Files[string]>,
    })
  }
  const dependants = part === 'payments' ? linkDependants(db) : receiptDependants(db)
  return startProcessKeys({ ...options, dependants })
}

/** A list as "state id", the current key first. */
export const idsOf = ({ keys }: KeyRing) => keys.map(({ keyId, state }) => `${state} ${keyId}`)
/** The states of a list, the current key first. */
export const statesOf = ({ keys }: KeyRing) => keys.map(({ state }) => state)
