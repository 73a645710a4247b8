// The database repeats the machine of a quote: every pair of states is tried, and its terms cannot be changed.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Database, isCheckViolation, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { type QuoteState, quoteMachine } from '../../services/quotes/domain/quote.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase('quotes', migrationFolders('quotes'))
  db = database.open()
})
afterAll(() => database.drop())

const id = '018f0000-0000-7000-8000-000000000001'
const other = '018f0000-0000-7000-8000-000000000002'
const clear = sql('test_clear_quote', 'delete from quote')
const insert = sql(
  'test_quote',
  `insert into quote (quote_id, project_id, institution_id, institution_name, account_id, kind, requested_minor,
     requested_currency, quoted_minor, quoted_currency, rate, rate_time, residual, rounding_minor, quote_time, expire_time)
   values ('${id}', '${id}', '${id}', 'Demo Wallet', '${id}', 'transfer', 100, 'USD', 678, 'TTD', 6.7829, now(), 0.29, 1,
     now(), now() + interval '300 seconds')`,
)
beforeEach(async () => {
  await db.run(clear, [])
  await db.run(insert, [])
})

/** What the row of a state holds. */
const filled: Record<QuoteState, string> = {
  open: `state = 'open', movement_id = null, reserve_time = null, use_time = null, transaction_id = null,
    institution_receipt_id = null, transaction_status = null`,
  reserved: `state = 'reserved', movement_id = '${id}', reserve_time = now(), use_time = null, transaction_id = null,
    institution_receipt_id = null, transaction_status = null`,
  used: `state = 'used', movement_id = '${id}', reserve_time = now(), use_time = now(), transaction_id = 't',
    institution_receipt_id = 'r', transaction_status = 'pending'`,
}

function set(name: string, columns: string): Promise<boolean> {
  return db.run(sql(`test_${name}`, `update quote set ${columns}`), []).then(
    () => true,
    (error: unknown) => {
      if (isCheckViolation(error)) return false
      throw error
    },
  )
}

const states = Object.keys(quoteMachine) as QuoteState[]
const pairs = states.flatMap((from) => states.map((to) => ({ from, to })))

async function reach(state: QuoteState): Promise<void> {
  if (state === 'open') return
  await set('to_reserved', filled.reserved)
  if (state === 'used') await set('to_used', filled.used)
}

describe('a quote in the database', () => {
  it.each(pairs)(
    'a quote in the database goes from $from to $to only as the state machine allows',
    async ({ from, to }) => {
      await reach(from)
      const allowed: string[] = Object.values(quoteMachine[from])
      expect(await set(`pair_${from}_${to}`, filled[to])).toBe(from === to || allowed.includes(to))
    },
  )

  it.each([
    ['requested_minor', 'requested_minor + 1'],
    ['quoted_minor', 'quoted_minor + 1'],
    ['quoted_currency', "'USD'"],
    ['rate', 'rate + 1'],
    ['expire_time', "expire_time + interval '1 second'"],
  ])('a quote in the database keeps its %s', async (column, value) => {
    expect(await set(`terms_${column}`, `${column} = ${value}`)).toBe(false)
  })

  it('a quote in the database does not change hands while it is reserved or used', async () => {
    await reach('reserved')
    expect(await set('other_movement', `movement_id = '${other}'`)).toBe(false)
    await reach('used')
    expect(await set('other_movement', `movement_id = '${other}'`)).toBe(false)
  })

  it('a quote in the database is not reserved late', async () => {
    const late = filled.reserved.replace('now()', "now() + interval '300 seconds'")
    expect(await set('late', late)).toBe(false)
  })
})
