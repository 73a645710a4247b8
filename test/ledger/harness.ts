// A ledger on a real database for one test file: projects, customers with money, and what stands for the other services.
import { randomBytes } from 'node:crypto'
import { newId, randomId } from '#core/identity/id.ts'
import type { UserLimits } from '#platform/config/values.ts'
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestClock, type TestClock } from '#platform/testing/clock.ts'
import {
  type Line,
  openCustomerLedger,
  postTransfer,
  readBalance,
} from '../../services/accounts/ledger/operations/ledger.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

/** A database with the tables of accounts, and a clock that shifts its SQL. */
export type Harness = {
  database: TestDatabase
  db: Database
  clock: TestClock
  close(): Promise<void>
}

/** Makes a database of its own. */
export async function startHarness(): Promise<Harness> {
  const database = await createTestDatabase('accounts', migrationFolders('accounts'))
  const clock = createTestClock()
  const db = database.open({ testClock: clock })
  return { database, db, clock, close: () => database.drop() }
}

/** Opens a customer's account in the ledger and credits them out of `opening`. */
export async function newCustomer(
  db: Queryable,
  {
    projectId,
    currency = 'TTD',
    amountMinor,
  }: { projectId: string; currency?: string; amountMinor: bigint },
): Promise<string> {
  const accountId = randomId()
  await openCustomerLedger(db, { accountId, currency })
  if (amountMinor > 0n) {
    const lines = moving({ internal: 'opening' }, { accountId }, amountMinor, currency)
    await postTransfer(db, { projectId, transferId: newId(), lines })
  }
  return accountId
}

/** Two lines that move an amount. */
export function moving(
  from: Line['address'],
  to: Line['address'],
  amountMinor: bigint,
  currency = 'TTD',
): Line[] {
  return [
    { address: from, currency, amountMinor: -amountMinor },
    { address: to, currency, amountMinor },
  ]
}

/** Posted and held money of a customer. */
export async function balanceOf(
  db: Queryable,
  accountId: string,
  currency = 'TTD',
): Promise<{ postedMinor: bigint; heldMinor: bigint }> {
  const { postedMinor, heldMinor } = await readBalance(db, { address: { accountId }, currency })
  return { postedMinor, heldMinor }
}

/** A statement of a test's own. */
export function statement(text: string): ReturnType<typeof sql> {
  return sql(`test_${randomId().replaceAll('-', '_')}`, text)
}

/** The limits of the contract: TTD, by level. */
export const userLimits: UserLimits = {
  currency: 'TTD',
  levels: [
    { singleMinor: 50_000n, dailyMinor: 100_000n, monthlyMinor: 500_000n },
    { singleMinor: 500_000n, dailyMinor: 1_000_000n, monthlyMinor: 5_000_000n },
    { singleMinor: 2_500_000n, dailyMinor: 5_000_000n, monthlyMinor: 20_000_000n },
  ],
}

/** A project with an institution on which it holds a grant. */
export type Shop = { projectId: string; institutionId: string }

/** Makes a project that sees the customers of a new institution. */
export async function newShop(db: Queryable): Promise<Shop> {
  const [projectId, institutionId] = [newId(), randomId()]
  await db.run(
    statement(
      `with made as (
         insert into project (project_id, environment, name, account_access)
         values ($1::uuid, 'sandbox', $1::text, true)
       ), bank as (
         insert into institution (institution_id, environment, name)
         values ($2::uuid, 'sandbox', $2::text)
       )
       select 1`,
    ),
    [projectId, institutionId],
  )
  await db.run(
    statement(
      `insert into endpoint_grant (project_id, institution_id, endpoint) values ($1, $2, 'any')`,
    ),
    [projectId, institutionId],
  )
  return { projectId, institutionId }
}

/** Makes an available customer's account of the institution with money in the ledger. */
export async function newAccount(
  db: Queryable,
  { projectId, institutionId }: Shop,
  { amountMinor = 0n, level = 0, currency = 'TTD' },
): Promise<string> {
  const accountId = await newCustomer(db, { projectId, currency, amountMinor })
  await db.run(
    statement(
      `insert into account (account_id, institution_id, account_number, mobile_number, email,
         email_folded, first_name, first_name_folded, last_name, last_name_folded, country, currency,
         status, level)
       values ($1::uuid, $2, $1::text, '+18685550100', 'a@b.c', 'a@b.c', 'A', 'a', 'B', 'b', 'TT', $3,
         'available', $4)`,
    ),
    [accountId, institutionId, currency, level],
  )
  return accountId
}

/** Opens a session for an account and answers the hash of its token. */
export async function newSession(
  db: Queryable,
  { projectId, institutionId }: Shop,
  accountId: string,
  { singleUse = true, livesS = 900 } = {},
): Promise<Buffer> {
  const tokenHash = randomBytes(32)
  await db.run(
    statement(
      `insert into session (session_id, project_id, institution_id, account_id, token_hash, single_use,
         ttl_s, expire_time)
       values (gen_random_uuid(), $1, $2, $3, $4, $5, $6, clock_now() + $6::integer * interval '1 second')`,
    ),
    [projectId, institutionId, accountId, tokenHash, singleUse, livesS],
  )
  return tokenHash
}
