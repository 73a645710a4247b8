// That the database holds the machine of a transaction by itself, and lets only claims go.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import {
  type TransactionState,
  transactionMachine,
} from '../../services/institution/domain/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase('institution', migrationFolders('institution'))
  db = database.open()
})
afterAll(() => database.drop())

const states = Object.keys(transactionMachine) as TransactionState[]
const insert = sql(
  'test_insert',
  `insert into transaction (movement_id, project_id, institution_id, institution_name,
     transaction_id, receipt_id, request_fingerprint, type, state, amount_minor, currency,
     sender_amount_minor, sender_currency, fee_total_minor, fee_convenience_minor,
     fee_sender_pays_minor, fee_recipient_pays_minor, description, debit_account_id,
     debit_mobile_number, credit_mobile_number, described, session_token_hash, limit_account_id,
     limit_minor, limit_currency, create_time, end_time, claim_time)
   values ($1, $2, $2, 'Demo Wallet', $3, $3, $4, 'cashout', $5::transaction_state, 1, 'USD', 1, 'USD', 0, 0, 0, 0,
     '', $2, '', '', '{}', $4, $2, 1, 'TTD',
     case when $5::transaction_state <> 'claimed' then clock_now() end,
     case when $5::transaction_state not in ('claimed', 'pending') then clock_now() end, clock_now())`,
)
const move = sql(
  'test_move',
  `update transaction set state = $2::transaction_state,
     create_time = case when $2::transaction_state <> 'claimed' then clock_now() end,
     end_time = case when $2::transaction_state not in ('claimed', 'pending') then clock_now() end
   where movement_id = $1`,
)
const remove = sql('test_remove', 'delete from transaction where movement_id = $1')

async function rowIn(state: TransactionState): Promise<string> {
  const movementId = randomUUID()
  const values = [movementId, randomUUID(), randomUUID(), randomBytes(32), state]
  await db.run(insert, values)
  return movementId
}

const pairs = states.flatMap((from) =>
  states.filter((to) => to !== from).map((to): [TransactionState, TransactionState] => [from, to]),
)

describe('the database', () => {
  it.each(pairs)(
    'the database lets a transaction go from %s to %s only where the state machine does',
    async (from, to) => {
      const movementId = await rowIn(from)
      const isAllowed = Object.values(transactionMachine[from]).includes(to)
      const moved = await db.run(move, [movementId, to]).then(
        () => true,
        () => false,
      )
      expect(moved).toBe(isAllowed)
    },
  )

  it.each(states)(
    'the database deletes a transaction that is %s only when it is a claim',
    async (state) => {
      const movementId = await rowIn(state)
      const gone = await db.run(remove, [movementId]).then(
        () => true,
        () => false,
      )
      expect(gone).toBe(state === 'claimed')
    },
  )
})
