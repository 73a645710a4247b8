// A ledger on a real database for one test file: projects, customers with money, and what stands for the other services.
import { newId, randomId } from '#core/id.ts'
import { type Database, type Queryable, sql } from '#runtime/db.ts'
import { migrationFolders } from '#runtime/schemas.ts'
import { createTestClock, type TestClock } from '#runtime/test-clock.ts'
import {
  type Line,
  openCustomerLedger,
  postTransfer,
  readBalance,
} from '../../services/accounts/ledger/ledger.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

/** A database with the tables of accounts, and a clock that shifts its SQL. */
export type LedgerWorld = {
  database: TestDatabase
  db: Database
  clock: TestClock
  close(): Promise<void>
}

/** Makes a database of its own. */
export async function ledgerWorld(): Promise<LedgerWorld> {
  const database = await createTestDatabase('accounts', migrationFolders('accounts'))
  const clock = createTestClock()
  const db = database.open({ testClock: clock })
  return { database, db, clock, close: () => database.drop() }
}

/** Opens a customer's account in the ledger and gives him money out of `opening`. */
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
