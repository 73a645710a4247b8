// Tests over RPC, on a real database, that a token of one project gives no access to another.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import {
  createRpcClient,
  createRpcPool,
  type RpcPool,
  withProject,
} from '#platform/rpc/client/client.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import {
  createTestDatabase,
  silentLog,
  type TestDatabase,
} from '../../../../test/support/database.ts'
import { fixedKeys } from '../../../../test/support/keys.ts'
import { accessService } from './access.ts'

const dir = mkdtempSync(join(tmpdir(), 'payweave-accounts-'))
const pools: RpcPool[] = []
let database: TestDatabase
let server: RpcServer
let gateway: Client<typeof AccessService>
let launcher: Client<typeof AccessService>

beforeAll(async () => {
  writeIdentities(dir, ['accounts', 'gateway', 'launcher'])
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log: silentLog })
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  const administration = {
    db: database.open(),
    secrets: { pepper: fixedKeys(), seal: fixedKeys() },
    publishAccessChanged: async () => {},
    notify: () => {},
  }
  server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: identityOf('accounts'),
    log: silentLog,
    services: [AccessService],
    routes: (router) => router.service(AccessService, accessService(administration)),
  })
  const url = `http://127.0.0.1:${server.port}`
  const clientOf = (name: string) => {
    const pool = createRpcPool(url)
    pools.push(pool)
    const identity = identityOf(name)
    return createRpcClient(AccessService, { url, audience: 'accounts', identity, pool })
  }
  gateway = clientOf('gateway')
  launcher = clientOf('launcher')
})
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()))
  await server.close()
  await database.drop()
  rmSync(dir, { recursive: true })
})

async function newShop(name: string) {
  const environment = Environment.SANDBOX
  const { project } = await launcher.createProject({ name, environment })
  const projectId = project?.projectId ?? ''
  const wanted = { projectId, businessName: name, mobileNumber: '+12025550123' }
  const { merchant, apiKey } = await launcher.createMerchant(wanted)
  return { projectId, apiKey, merchantId: merchant?.merchantId ?? '' }
}

describe('a call for one project', () => {
  it('a call for one project finds what is of that project, named in the request or not', async () => {
    const { projectId, apiKey, merchantId } = await newShop('Own')
    for (const named of [projectId, '']) {
      const call = gateway.authenticateApiKey({ projectId: named, apiKey }, withProject(projectId))
      expect((await call).merchant).toMatchObject({ projectId, merchantId })
    }
  })

  it('a call for one project is refused when it names another project', async () => {
    const [own, other] = [await newShop('Mine'), await newShop('Theirs')]
    const { projectId, apiKey, merchantId } = other
    const only = withProject(own.projectId)
    const calls = [
      gateway.authenticateApiKey({ projectId, apiKey }, only),
      gateway.getMerchant({ projectId, merchantId }, only),
      gateway.checkGrant({ projectId, institutionName: 'Bank', endpoint: 'GET /' }, only),
      launcher.issueSubscriptionKey({ projectId }, only),
      launcher.createMerchant({ projectId, businessName: 'X', mobileNumber: '+12025550123' }, only),
      launcher.updateProjectAccess({ projectId }, only),
    ]
    const answers = await Promise.allSettled(calls)
    expect(answers.map(({ status }) => status)).toEqual(Array(calls.length).fill('rejected'))
  })
})
