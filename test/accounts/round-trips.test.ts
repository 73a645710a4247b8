// Proves what a session costs in round trips to the database, counted on the wire.
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Failure } from '#core/errors/errors.ts'
import { seal } from '#core/identity/seal.ts'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { seedSandbox } from '../../deploy/local/seed/accounts.ts'
import { newSandboxCredentials } from '../../deploy/local/seed/credentials.ts'
import { customerMetrics } from '../../services/accounts/customers/metrics.ts'
import type { Customers } from '../../services/accounts/customers/operations/customers.ts'
import {
  openSession,
  sessionResolver,
} from '../../services/accounts/customers/operations/session.ts'
import { batchingOpenings } from '../../services/accounts/customers/operations/session-batching.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'
import { type CountingWire, countRoundTrips } from '../support/round-trips.ts'
import { settings } from './harness.ts'

const institutionName = 'Demo Wallet'
const credentials = newSandboxCredentials()
const demoProject = sql('test_demo_project', `select project_id from project where name = 'demo'`)

let database: TestDatabase
let wire: CountingWire
let db: Database
let customers: Customers
let projectId: string

beforeAll(async () => {
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  wire = await countRoundTrips(new URL(database.url))
  db = database.open({ url: wire.url, poolSize: 1 })
  const secrets = { pepper: fixedKeys(), seal: fixedKeys() }
  await seedSandbox(db, secrets, credentials, 'local')
  projectId = (await db.row<{ project_id: string }>(demoProject, []))?.project_id ?? ''
  customers = {
    db,
    log: silentLog,
    secrets,
    sessionKeys: fixedKeys(),
    settings,
    metrics: customerMetrics(new Registry(), () => Promise.resolve([])),
    publishAccessChanged: () => Promise.resolve(),
    notify: () => undefined,
  }
})
afterAll(async () => {
  await database.drop()
  await wire.close()
})

async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = wire.roundTrips()
  await work()
  return wire.roundTrips() - before
}

async function newToken(lookupValue = '+12025550100'): Promise<string> {
  const { session } = await openSession(customers, {
    projectId,
    requestId: '',
    fingerprint: Buffer.alloc(0),
    lookupType: 'MOBILE',
    lookupValue,
    institutionName,
    firstName: '',
    lastName: '',
    email: '',
  })
  return session?.sessionToken ?? ''
}

it('opening a session is one round trip', async () => {
  expect(await cost(() => newToken())).toBe(1)
})

it('sessions that are opened at once are one round trip, and each gets its own answer', async () => {
  const openRow = batchingOpenings(db)
  const open = (more: { lookupValue: string; requestId?: string; body?: number }) =>
    openSession(
      customers,
      {
        projectId,
        requestId: more.requestId ?? '',
        fingerprint: Buffer.alloc(32, more.body ?? 1),
        lookupType: 'MOBILE',
        lookupValue: more.lookupValue,
        institutionName,
        firstName: '',
        lastName: '',
        email: '',
      },
      openRow,
    )
  const requestIds = Array.from({ length: 20 }, () => randomUUID())
  const before = wire.roundTrips()
  const opened = await Promise.all(
    requestIds.map((requestId) => open({ requestId, lookupValue: '+12025550100' })),
  )
  expect(wire.roundTrips() - before).toBe(1)
  expect(new Set(opened.map(({ session }) => session?.sessionToken)).size).toBe(20)
  const [used = '', fresh] = [requestIds[0], randomUUID()]
  const answers = await Promise.allSettled([
    open({ lookupValue: '+12025550101' }),
    open({ lookupValue: '+12025550101', requestId: fresh }),
    open({ lookupValue: '+12025550101', requestId: fresh }),
    open({ lookupValue: '+12025550100', requestId: used }),
    open({ lookupValue: '+12025550101', requestId: used, body: 2 }),
    // Two accounts have this number, one is suspended, and one does not exist.
    open({ lookupValue: '+12025550109' }),
    open({ lookupValue: '+12025550110' }),
    open({ lookupValue: '+12025550999' }),
  ])
  const outcomes = answers.map((answer) =>
    answer.status === 'rejected'
      ? (answer.reason as Failure).reason
      : [answer.value.account.mobileNumber, answer.value.session?.sessionToken],
  )
  const newSession = expect.stringMatching(/^pws_/)
  expect(outcomes).toEqual([
    ['+12025550101', newSession],
    ['+12025550101', newSession],
    outcomes[1],
    ['+12025550100', opened[0]?.session?.sessionToken],
    'REQUEST_ID_REUSED',
    'AMBIGUOUS_MATCH',
    ['+12025550110', undefined],
    'ACCOUNT_NOT_FOUND',
  ])
  expect(outcomes[0]).not.toEqual(outcomes[1])
  const tokens = outcomes.slice(0, 4).map((one) => ({ plain: String(one[1]) }))
  const resolveSession = sessionResolver(customers)
  const resolved = tokens.map((token) =>
    resolveSession({ projectId, institutionName, token, references: [] }),
  )
  expect((await Promise.all(resolved)).map(({ account }) => account.mobileNumber)).toEqual([
    '+12025550101',
    '+12025550101',
    '+12025550101',
    '+12025550100',
  ])
})

it('the check of a quote is one round trip: the session, its account, another one and the room that the limits leave', async () => {
  const resolveSession = sessionResolver(customers)
  const token = { plain: await newToken() }
  const references = [{ mobileNumber: '+12025550101', accountNumber: '' }]
  const limits = settings.userLimits
  const asked = { projectId, institutionName, token, references, limits }
  expect(await cost(() => resolveSession(asked))).toBe(1)
  expect(await resolveSession(asked)).toMatchObject({
    state: 'live',
    room: { singleMinor: limits.levels[2].singleMinor },
    references: [{ ambiguous: false }],
  })
})

it('forty sessions that are resolved at once are two round trips, and each gets its own answer', async () => {
  const resolveSession = sessionResolver(customers)
  const people = ['+12025550100', '+12025550101']
  const tokens = await Promise.all(people.map((number) => newToken(number)))
  const limits = settings.userLimits
  const asked = Array.from({ length: 40 }, (_, index) => ({
    projectId: index % 5 === 4 ? randomUUID() : projectId,
    institutionName,
    token: { plain: tokens[index % 2] ?? '' },
    references: [{ mobileNumber: people[(index + 1) % 2] ?? '', accountNumber: '' }],
    limits: index % 3 === 0 ? limits : undefined,
  }))
  const before = wire.roundTrips()
  const answers = await Promise.allSettled(asked.map((one) => resolveSession(one)))
  expect(wire.roundTrips() - before).toBe(2)
  const results = answers.map((answer) =>
    answer.status === 'rejected'
      ? (answer.reason as Failure).reason
      : [
          answer.value.account.mobileNumber,
          answer.value.references[0]?.account?.mobileNumber,
          answer.value.room !== undefined,
        ],
  )
  const expected = asked.map((one, index) =>
    one.projectId === projectId
      ? [people[index % 2], people[(index + 1) % 2], one.limits !== undefined]
      : 'SESSION_INVALID',
  )
  expect(results).toEqual(expected)
})

it('a sealed token costs one more round trip, the first time that its key is used', async () => {
  const resolveSession = sessionResolver(customers)
  const { keyId, sharedKey } = credentials.institution
  const key = Buffer.from(sharedKey, 'base64')
  const plain = await newToken()
  const sealed = seal(Buffer.from(plain), { keyId, key, purpose: 'session_token' })
  const asked = { projectId, institutionName, token: { sealed }, references: [] }
  expect(await cost(() => resolveSession(asked))).toBe(2)
  expect(await cost(() => resolveSession(asked))).toBe(1)
})
