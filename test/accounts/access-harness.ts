// The access service on an RPC port, over a database of its own.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@connectrpc/connect'
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { accessService } from '../../services/accounts/access/api/access.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'

/** A running service. */
export type AccessHarness = {
  database: TestDatabase
  /** A client with the identity of a caller. */
  clientOf(caller: string): Client<typeof AccessService>
  close(): Promise<void>
}

/** Starts the service, which knows these callers. Rejects with the error of the database or of the port. */
export async function startAccess(...callers: string[]): Promise<AccessHarness> {
  const dir = mkdtempSync(join(tmpdir(), 'payweave-access-'))
  writeIdentities(dir, ['accounts', ...callers])
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log: silentLog })
  const database = await createTestDatabase('accounts', migrationFolders('accounts'))
  const administration = {
    db: database.open(),
    secrets: { pepper: fixedKeys(), seal: fixedKeys() },
    publishAccessChanged: async () => {},
    notify: () => {},
  }
  const server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: identityOf('accounts'),
    log: silentLog,
    routes: (router) => router.service(AccessService, accessService(administration)),
  })
  const url = `http://127.0.0.1:${server.port}`
  const pools: RpcPool[] = []
  return {
    database,
    clientOf(caller) {
      const pool = createRpcPool(url)
      pools.push(pool)
      const identity = identityOf(caller)
      return createRpcClient(AccessService, { url, audience: 'accounts', identity, pool })
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.close()))
      await server.close()
      await database.drop()
      rmSync(dir, { recursive: true })
    },
  }
}
