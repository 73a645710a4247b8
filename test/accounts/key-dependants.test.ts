// Shows on a real database which issued keys, pins and sessions need which key, and that each step of a rotation is in the audit.
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import {
  KeyAdministrationService,
  KeyStep,
} from '#gen/payweave/accounts/v1/key_administration_pb.js'
import { KeyService, KeyState } from '#gen/payweave/keys/v1/keys_pb.js'
import { sql } from '#platform/db/db.ts'
import { bearerIdentity, openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { authenticateApiKey } from '../../services/accounts/access/operations/authenticate.ts'
import { startAccountKeys } from '../../services/accounts/access/operations/key-administration.ts'
import { silentLog } from '../support/database.ts'
import { testKeys } from '../support/keys.ts'
import { type Harness, refusal, settings, startHarness } from './harness.ts'

const dir = mkdtempSync(join(tmpdir(), 'payweave-key-dependants-'))
const token = 'operator-credential-0123456789'
const [pepper, seal, session] = [testKeys('untimed'), testKeys(), testKeys()]
const closers: (() => Promise<unknown>)[] = []
let harness: Harness
let keys: ReturnType<typeof createRpcClient<typeof KeyService>>
let administration: ReturnType<typeof createRpcClient<typeof KeyAdministrationService>>

beforeAll(async () => {
  harness = await startHarness({ pepper, seal }, session)
  const { db } = harness
  const files = { pepper, 'seal.key': seal, 'session.key': session }
  const operatorKeys = startAccountKeys({ db, files, log: silentLog, instance: 'accounts-1' })
  const sha256 = createHash('sha256').update(token).digest('hex')
  writeIdentities(dir, ['accounts', 'gateway'], [{ name: 'operator', sha256, rpcs: ['*'] }])
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log: silentLog })
  const server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: identityOf('accounts'),
    log: silentLog,
    routes: (router) => operatorKeys.routes(router),
  })
  const url = `http://127.0.0.1:${server.port}`
  const pool = createRpcPool(url)
  const connection = { url, audience: 'accounts', identity: bearerIdentity(token), pool }
  keys = createRpcClient(KeyService, connection)
  administration = createRpcClient(KeyAdministrationService, connection)
  closers.push(
    () => pool.close(),
    () => server.close(),
    () => operatorKeys.close(),
    () => harness.stop(),
  )
})
afterAll(async () => {
  for (const close of closers) await close()
  rmSync(dir, { recursive: true })
})

/** What depends on each key of a file, as "kind key id". */
async function counted(file: string) {
  const counts: Record<string, number> = {}
  let pageToken = ''
  do {
    const page = await keys.countDependants({ file, pageToken })
    for (const { kind, keyId, count } of page.dependants) {
      counts[`${kind} ${keyId}`] = (counts[`${kind} ${keyId}`] ?? 0) + count
    }
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return counts
}

it('accounts lists keys by id, state and time, and the processes that have read them', async () => {
  const next = session.add()
  const { files } = await keys.listKeys({})
  expect(files.map(({ name }) => name)).toEqual(['pepper', 'seal.key', 'session.key'])
  const [first, , last] = files
  expect(first?.keys).toMatchObject([{ keyId: pepper().current.keyId, state: KeyState.CURRENT }])
  expect(first?.keys[0]).not.toHaveProperty('makeTime')
  expect(last?.keys).toMatchObject([
    { keyId: session().current.keyId, state: KeyState.CURRENT },
    { keyId: next, state: KeyState.NEXT },
  ])
  expect(last?.keys[0]?.makeTime).toBeDefined()
  expect(last?.readers).toMatchObject([
    { instance: 'accounts-1', keyIds: [session().current.keyId, next] },
  ])
  session.use()
})

it('issued keys need their pepper until they are used, pins for ever, revoked keys never', async () => {
  const old = pepper().current.keyId
  const made = await harness.accounts.createBusinessAccount({
    projectId: harness.projects.demo,
    businessName: 'Kente House',
    firstName: 'Efua',
    lastName: 'Sutherland',
    email: 'efua@kente.example',
    mobileNumber: '+12025550177',
  })
  await harness.db.run(sql('test_no_pepper', 'update subscription_key set pepper_id = null'), [])
  const before = await counted('pepper')
  expect(before).toEqual({
    [`subscription key ${old}`]: 5,
    [`API key ${old}`]: 5,
    [`pin of a business account ${old}`]: 1,
  })
  const newest = pepper.rotate()
  await authenticateApiKey(harness.db, harness.secrets, harness.projects.demo, made.apiKey)
  const revoke = sql(
    'test_revoke_one',
    `update subscription_key set revoked_at = clock_now()
     where key_id = (select key_id from subscription_key limit 1)`,
  )
  await harness.db.run(revoke, [])
  expect(await counted('pepper')).toEqual({
    [`subscription key ${old}`]: 4,
    [`API key ${old}`]: 4,
    [`API key ${newest}`]: 1,
    [`pin of a business account ${old}`]: 1,
  })
})

it('sessions need their key while they live, if a repeat can show them', async () => {
  const open = (requestId: string) =>
    harness.open({
      lookupType: LookupType.MOBILE,
      lookupValue: '+12025550100',
      requestId,
      fingerprint: Buffer.alloc(32),
    })
  const old = session().current.keyId
  await open(randomUUID())
  await open(randomUUID())
  await harness.tokenOf('+12025550101')
  const newest = session.rotate()
  await open(randomUUID())
  const kind = 'live session that a repeat shows'
  expect(await counted('session.key')).toEqual({ [`${kind} ${old}`]: 2, [`${kind} ${newest}`]: 1 })
  harness.testClock.advance(settings.sessionTtlS * 1_000 + 1_000)
  expect(await counted('session.key')).toEqual({})
})

it('every step of a rotation is in the audit with who did it', async () => {
  const keyId = seal().current.keyId
  const step = { file: 'payments/link.key', keyId, unchecked: false }
  await administration.recordKeyStep({ ...step, step: KeyStep.ADDED })
  await administration.recordKeyStep({ ...step, step: KeyStep.USED, unchecked: true })
  await administration.recordKeyStep({ ...step, file: 'accounts/seal.key', step: KeyStep.RESEALED })
  await administration.recordKeyStep({ ...step, step: KeyStep.RETIRED })
  const read = sql(
    'test_key_audit',
    `select caller, action, details from access_audit where target_id = $1 order by occurred_at`,
  )
  const file = 'payments/link.key'
  expect(await harness.db.rows(read, [keyId])).toEqual([
    { caller: 'operator', action: 'add_key', details: { file } },
    { caller: 'operator', action: 'use_key', details: { file, unchecked: 'true' } },
    { caller: 'operator', action: 'reseal', details: { file: 'accounts/seal.key' } },
    { caller: 'operator', action: 'retire_key', details: { file } },
  ])
})

it('a malformed request about keys is refused', async () => {
  for (const file of ['link.key', 'constructor']) {
    expect(await refusal(keys.countDependants({ file }))).toBe('INVALID_PARAMETER file')
  }
  expect(await refusal(keys.countDependants({ file: 'pepper', pageToken: 'x' }))).toBe(
    'INVALID_PARAMETER page_token',
  )
  // In the form of a token, with a place that its table cannot have.
  const places = [
    ['0 no-uuid', 'pepper'],
    ['2 a/b/c', 'pepper'],
    ['0 1/2', 'seal.key'],
  ] as const
  for (const [place, file] of places) {
    const pageToken = Buffer.from(place).toString('base64url')
    expect(await refusal(keys.countDependants({ file, pageToken }))).toBe(
      'INVALID_PARAMETER page_token',
    )
  }
  const good = { file: 'accounts/seal.key', keyId: 'a1b2c3d4', step: KeyStep.ADDED }
  for (const [bad, field] of [
    [{ file: '../seal' }, 'file'],
    [{ keyId: 'A1' }, 'key_id'],
    [{ step: 9 as KeyStep }, 'step'],
  ] as const) {
    const recorded = administration.recordKeyStep({ ...good, ...bad })
    expect(await refusal(recorded)).toBe(`INVALID_PARAMETER ${field}`)
  }
  expect(await refusal(administration.recordKeyStep({ ...good, step: KeyStep.UNSPECIFIED }))).toBe(
    'MISSING_PARAMETER step',
  )
  const sealing = administration.resealPage({ keyId: 'ffffffff' })
  expect(await refusal(sealing)).toBe('KEY_NOT_CURRENT')
})
