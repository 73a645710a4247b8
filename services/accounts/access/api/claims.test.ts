// Tests claims on Inbox items over RPC, including their audit entries.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { ItemClaimService, ItemKind } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { type Role, roleNames } from '#platform/rpc/auth/roles.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import {
  createTestDatabase,
  silentLog,
  type TestDatabase,
} from '../../../../test/support/database.ts'
import { deleteOldClaims } from '../store/claim-store.ts'
import { itemClaimService } from './claims.ts'

const dir = mkdtempSync(join(tmpdir(), 'payweave-claims-'))
const testClock = createTestClock()
let database: TestDatabase
let db: Database
let server: RpcServer
let pool: RpcPool
let claims: Client<typeof ItemClaimService>

beforeAll(async () => {
  writeIdentities(dir, ['accounts', 'console'])
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log: silentLog })
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  db = database.open({ testClock })
  server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: identityOf('accounts'),
    log: silentLog,
    routes: (router) => router.service(ItemClaimService, itemClaimService(db)),
  })
  const url = `http://127.0.0.1:${server.port}`
  pool = createRpcPool(url)
  const identity = identityOf('console')
  claims = createRpcClient(ItemClaimService, { url, audience: 'accounts', identity, pool })
})
afterAll(async () => {
  await pool.close()
  await server.close()
  await database.drop()
  rmSync(dir, { recursive: true })
})

/** Does something as a person of the console. */
function as<T>(name: string, role: Role, work: () => Promise<T>): Promise<T> {
  const projectId = role.startsWith('merchant_') ? randomUUID() : undefined
  const person = { id: `${name}@example.com`, memberships: [{ role, projectId }] }
  const acting = { person, projectId, sessionId: randomUUID() }
  return runWithContext({ requestId: randomUUID(), traceparent: newTraceparent(), acting }, work)
}

const newItem = (kind = ItemKind.BILL) => ({ kind, itemId: randomUUID() })
type Item = ReturnType<typeof newItem>

const take = (name: string, item: Item, takeOverFrom = '', role: Role = 'finance') =>
  as(name, role, () => claims.claimItem({ item, takeOverFrom })).then(
    ({ claim }) => claim?.holder,
    (error: unknown) => (error instanceof Failure ? error.reason : 'unexpected'),
  )
const release = (name: string, item: Item) =>
  as(name, 'finance', () => claims.releaseItem({ item })).then(
    () => 'released',
    (error: unknown) => (error instanceof Failure ? error.reason : 'unexpected'),
  )
const holderOf = async (item: Item) => {
  const found = await as('any', 'support', () => claims.listItemClaims({ items: [item] }))
  return found.claims[0]
}

const selectAudit = sql(
  'test_audit',
  `select caller, action, details from access_audit where target_id = $1 order by occurred_at`,
)
const auditOf = ({ itemId }: Item) => db.rows(selectAudit, [itemId])

describe('an item', () => {
  it('an item that someone has is refused to others, who see by whom and since when', async () => {
    const item = newItem()
    expect(await holderOf(item)).toBeUndefined()
    expect(await take('ama', item)).toBe('console:ama@example.com')
    const claim = await holderOf(item)
    expect(claim).toMatchObject({ item, holder: 'console:ama@example.com', takenFrom: '' })
    await expect(as('kofi', 'finance', () => claims.claimItem({ item }))).rejects.toMatchObject({
      reason: 'ITEM_CLAIMED',
      message: 'ama@example.com works on this item',
      details: { holder: 'console:ama@example.com' },
    })
    expect(await release('kofi', item)).toBe('ITEM_CLAIMED')
    expect(await holderOf(item)).toEqual(claim)
    expect(await auditOf(item)).toEqual([
      { caller: 'console:ama@example.com', action: 'claim_item', details: { kind: 'bill' } },
    ])
  })

  it('an item that is claimed or released again changes nothing, and adds nothing to the audit', async () => {
    const item = newItem()
    await take('ama', item)
    const claim = await holderOf(item)
    expect(await take('ama', item)).toBe('console:ama@example.com')
    expect(await take('ama', item, 'console:ama@example.com')).toBe('console:ama@example.com')
    expect(await holderOf(item)).toEqual(claim)
    expect(await release('ama', item)).toBe('released')
    expect(await release('ama', item)).toBe('released')
    expect(await take('kofi', item)).toBe('console:kofi@example.com')
    expect(await auditOf(item)).toMatchObject([
      { caller: 'console:ama@example.com', action: 'claim_item' },
      { caller: 'console:ama@example.com', action: 'release_item' },
      { caller: 'console:kofi@example.com', action: 'claim_item' },
    ])
  })

  it('an item is taken over from the holder who was seen, and from no other', async () => {
    const item = newItem()
    await take('ama', item)
    expect(await take('kofi', item, 'console:esi@example.com')).toBe('ITEM_CLAIMED')
    expect(await take('kofi', item, 'console:ama@example.com')).toBe('console:kofi@example.com')
    expect(await take('esi', item, 'console:ama@example.com')).toBe('ITEM_CLAIMED')
    expect(await holderOf(item)).toMatchObject({
      holder: 'console:kofi@example.com',
      takenFrom: 'console:ama@example.com',
    })
    expect((await auditOf(item)).at(-1)).toEqual({
      caller: 'console:kofi@example.com',
      action: 'take_over_item',
      details: { kind: 'bill', taken_from: 'console:ama@example.com' },
    })
  })

  it.each([
    ['claim', ''],
    ['take over', 'console:old@example.com'],
  ])('an item that ten people %s at once has one of them, and one audit entry', async (_, from) => {
    const item = newItem()
    if (from !== '') await take('old', item)
    const people = Array.from({ length: 10 }, (__, at) => `person-${at}`)
    const answers = await Promise.all(people.map((name) => take(name, item, from)))
    const winners = answers.filter((answer) => answer !== 'ITEM_CLAIMED')
    expect(winners).toHaveLength(1)
    expect((await holderOf(item))?.holder).toBe(winners[0])
    expect(await auditOf(item)).toHaveLength(from === '' ? 1 : 2)
  })

  it('an item that its holder releases while another claims it is never lost or shared', async () => {
    for (let round = 0; round < 20; round += 1) {
      const item = newItem()
      await take('ama', item)
      const [released, taken] = await Promise.all([release('ama', item), take('kofi', item)])
      expect(released).toBe('released')
      const holder = (await holderOf(item))?.holder
      expect(holder).toBe(taken === 'ITEM_CLAIMED' ? undefined : 'console:kofi@example.com')
    }
  })
})

describe('a role', () => {
  const claimers: [ItemKind, Role[]][] = [
    [ItemKind.ONBOARDING, ['operator', 'administrator']],
    [ItemKind.BILL, ['finance', 'administrator']],
    [ItemKind.REFUND, ['finance', 'administrator']],
    [ItemKind.SUSPENSE, ['finance', 'administrator']],
    [ItemKind.SETTLEMENT, ['finance', 'administrator']],
    [ItemKind.DEAD_LETTER, ['support', 'operator', 'administrator']],
  ]

  it.each(claimers)(
    'a role claims items of kind %i only if it may end them',
    async (kind, roles) => {
      for (const role of roleNames) {
        const item = newItem(kind)
        const may = roles.includes(role)
        const answer = await take('ama', item, '', role)
        expect([role, answer === 'console:ama@example.com']).toEqual([role, may])
        expect(await auditOf(item)).toHaveLength(may ? 1 : 0)
      }
    },
  )

  it('a role of a merchant sees no claim', async () => {
    const list = () => claims.listItemClaims({ items: [newItem()] })
    for (const role of ['merchant_viewer', 'merchant_developer'] as const) {
      await expect(as('abena', role, list)).rejects.toMatchObject({
        cause: { code: Code.PermissionDenied },
      })
    }
  })
})

it('a claim ends after 30 days', async () => {
  const [old, young] = [newItem(), newItem()]
  await take('ama', old)
  testClock.advance(29 * 86_400_000)
  await take('ama', young)
  testClock.advance(2 * 86_400_000)
  await deleteOldClaims(db, 1_000)
  expect(await holderOf(old)).toBeUndefined()
  expect(await holderOf(young)).toBeDefined()
})
