// The customers of accounts on a database of its own with the sandbox's people, served over RPC, for the tests of this folder.

import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import {
  AccountsService,
  LookupType,
  type OpenSessionRequestSchema,
  type PersonalAccountProfileSchema,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { OnboardingEventSchema } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { BackendTaskService, OnboardingService } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { type Queryable, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { seedSandbox } from '../../deploy/local/seed/accounts.ts'
import { newSandboxCredentials } from '../../deploy/local/seed/credentials.ts'
import type { AccountSecrets } from '../../services/accounts/access/domain/at-rest.ts'
import { publishAccessChanged } from '../../services/accounts/access/ports/events.ts'
import { startCustomers } from '../../services/accounts/customers/engine.ts'
import { reviewBackend } from '../../services/accounts/customers/ports/backend.ts'
import { userLimits } from '../ledger/harness.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'
import { newReviewBackend } from './backend.ts'

const host = '127.0.0.1'

/** A look-up, in part. */
export type LookupInit = Extract<
  MessageInitShape<typeof OpenSessionRequestSchema>,
  { $typeName?: undefined }
>

/** A profile, in part. */
export type ProfileInit = Extract<
  MessageInitShape<typeof PersonalAccountProfileSchema>,
  { $typeName?: undefined }
>

/** The life of sessions and challenges in these tests. */
export const settings = {
  backendName: 'simulator',
  sessionTtlS: 900,
  challengeTtlS: 600,
  userLimits,
  allowLoopback: false,
}

/** The reason of a refusal, and the field that it names. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Failure)) throw error
  return [error.reason, error.details['field']].filter((part) => part !== undefined).join(' ')
}

/** Starts everything that the tests of a file share. */
export async function startHarness(
  secrets: AccountSecrets = { pepper: fixedKeys(), seal: fixedKeys() },
  sessionKeys: KeySource = fixedKeys(),
) {
  const dir = mkdtempSync(join(tmpdir(), 'payweave-customers-'))
  writeIdentities(dir, ['accounts', 'gateway', 'simulator', 'connector-acme', 'console'])
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log: silentLog })
  const database = await createTestDatabase('accounts', migrationFolders('accounts'))
  const testClock = createTestClock()
  const db = database.open({ testClock })
  const credentials = newSandboxCredentials()
  await seedSandbox(db, secrets, credentials, 'local')

  const backend = newReviewBackend()
  const outside = await serveRpc({
    host,
    port: 0,
    identity: identityOf('simulator'),
    log: silentLog,
    routes: (router) => router.service(ReviewService, backend.reviews),
  })
  const backendUrl = `http://${host}:${outside.port}`
  const backendPool = createRpcPool(backendUrl)
  const pools = [backendPool]
  const backendClient = createRpcClient(ReviewService, {
    url: backendUrl,
    audience: 'simulator',
    identity: identityOf('accounts'),
    pool: backendPool,
    timeoutMs: 10_000,
  })
  const start = () =>
    startCustomers({
      db,
      log: silentLog,
      registry: new Registry(),
      secrets,
      sessionKeys,
      settings,
      backend: reviewBackend(backendClient),
      publishAccessChanged,
      notifyOutbox: () => {},
    })
  const engine = start()
  const server = await serveRpc({
    host,
    port: 0,
    identity: identityOf('accounts'),
    log: silentLog,
    routes: (router) => engine.routes(router),
  })
  const url = `http://${host}:${server.port}`
  const clientOf = (name: string) => {
    const pool = createRpcPool(url)
    pools.push(pool)
    return { url, audience: 'accounts', identity: identityOf(name), pool }
  }
  const accounts = createRpcClient(AccountsService, clientOf('gateway'))
  const reports = createRpcClient(ReviewReportService, clientOf('simulator'))
  const otherReports = createRpcClient(ReviewReportService, clientOf('connector-acme'))
  const onboardings = createRpcClient(OnboardingService, clientOf('console'))
  const backendTasks = createRpcClient(BackendTaskService, clientOf('console'))
  const customers = createRpcClient(CustomerService, clientOf('console'))
  const projects = await projectIds(db)
  return {
    db,
    secrets,
    credentials,
    testClock,
    backend,
    engine,
    backendTasks,
    /** Starts a second set of workers on the same tables. */
    start,
    port: server.port,
    identityOf,
    accounts,
    reports,
    /** Reports of a connector that is not the back end. */
    otherReports,
    onboardings,
    customers,
    projects,
    ...callers({ accounts, projectId: projects.demo }),
    ...readers(db),
    async stop() {
      await engine.close()
      await Promise.all(pools.map((pool) => pool.close()))
      await server.close()
      await outside.close()
      await database.drop()
      rmSync(dir, { recursive: true })
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

const selectProjects = sql('test_projects', 'select name, project_id from project')

async function projectIds(
  db: Queryable,
): Promise<{ demo: string; other: string; stranger: string }> {
  const rows = await db.rows<{ name: string; project_id: string }>(selectProjects, [])
  const idOf = (name: string) => rows.find((row) => row.name === name)?.project_id ?? ''
  // ip_restricted holds no grant.
  return { demo: idOf('demo'), other: idOf('other'), stranger: idOf('ip_restricted') }
}

type Callers = {
  accounts: ReturnType<typeof createRpcClient<typeof AccountsService>>
  projectId: string
}

let nextNumber = 0

/** A number that nobody has. */
export function freshNumber(): string {
  nextNumber += 1
  return `+1202556${String(nextNumber).padStart(4, '0')}`
}

/** Calls with everything filled in that a test does not care about. */
function callers({ accounts, projectId }: Callers) {
  const profile = (more: ProfileInit = {}): ProfileInit => ({
    firstName: 'Efua',
    lastName: 'Sutherland',
    email: 'efua@example.com',
    mobileNumber: freshNumber(),
    institutionName: 'Demo Wallet',
    originCountry: 'US',
    ...more,
  })
  return {
    profile,
    open: (more: LookupInit) => accounts.openSession({ projectId, ...more }),
    /** Opens a session by number. */
    async tokenOf(mobileNumber: string): Promise<string> {
      const lookupType = LookupType.MOBILE
      const { session } = await accounts.openSession({
        projectId,
        lookupType,
        lookupValue: mobileNumber,
      })
      if (session === undefined) throw new Error('the account has no session')
      return session.sessionToken
    },
    create: (more: ProfileInit = {}, requestId: string = randomUUID()) =>
      accounts.createPersonalAccount({ projectId, requestId, profile: profile(more) }),
  }
}

const selectReview = sql('test_review', 'select review_id from review where account_id = $1')
const selectEvents = sql(
  'test_outbox',
  `select payload, project_id from outbox
   where subject = 'pw.accounts.onboarding' order by occurred_at, event_id`,
)

/** What the outside cannot ask accounts for. */
function readers(db: Queryable) {
  return {
    async reviewOf(accountId: string | undefined): Promise<string> {
      const row = await db.row<{ review_id: string }>(selectReview, [accountId])
      if (row === undefined) throw new Error('the account has no review')
      return row.review_id
    },
    /** The callbacks asked for about an account. */
    async eventsOf(accountId: string | undefined) {
      const rows = await db.rows<{ payload: Buffer; project_id: string }>(selectEvents, [])
      return rows
        .map(({ payload, project_id: projectId }) => ({
          ...fromBinary(OnboardingEventSchema, payload),
          projectId,
        }))
        .filter(({ account }) => account?.accountId === accountId)
    },
  }
}
