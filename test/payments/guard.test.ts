// The database repeats the state machines: every pair of states is tried, and money rows cannot be changed.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Database, type Sql, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import {
  payerMachine,
  paymentMachine,
  payoutMachine,
} from '../../services/payments/domain/payment.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase('payments', migrationFolders('payments'))
  db = database.open()
})
afterAll(() => database.drop())

const id = '018f0000-0000-7000-8000-000000000001'
const seed: Sql[] = [
  sql('test_clear_payment', 'delete from payment'),
  sql('test_clear_payer', 'delete from payer'),
  sql('test_clear_payee', 'delete from payee'),
  sql(
    'test_payment',
    `insert into payment (payment_id, project_id, merchant_id, transaction_id,
       request_fingerprint, amount_minor, currency, description, business_name, state,
       fraud_check_status, fee_card_processing_minor, fee_platform_processing_minor,
       fee_agent_processing_minor, fee_convenience_minor, fee_payer_pays_minor,
       fee_payee_pays_minor, fee_merchant_pays_minor, success_url, error_url, notify_url,
       callback_url, create_time, update_time, expire_time)
     values ('${id}', '${id}', '${id}', 't', sha256('t'), 100, 'USD', '', '', 'Pending',
       'skipped', 0, 0, 0, 0, 0, 0, 0, '', '', '', '', now(), now(), now())`,
  ),
  sql(
    'test_payer',
    `insert into payer (payer_id, project_id, payment_id, position, mobile_number,
       mobile_number_e164, first_name, last_name, email, payment_channel, payment_method,
       amount_minor, fee_minor, state, expire_time, create_time)
     values ('${id}', '${id}', '${id}', 0, '', '', '', '', '', 'agent', 'cash', 100, 0, 'Pending',
       now(), now())`,
  ),
  sql(
    'test_payee',
    `insert into payee (payee_id, project_id, payment_id, position, mobile_number,
       mobile_number_e164, amount_minor, fee_minor, net_minor, delay_days, payout_state)
     values ('${id}', '${id}', '${id}', 0, '', '', 100, 0, 100, 0, 'waiting')`,
  ),
]
beforeEach(async () => {
  for (const statement of seed) await db.run(statement, [])
})

type Table = { table: string; column: string; type: string }

function pairsOf(machine: Record<string, Partial<Record<string, string>>>) {
  const states = Object.keys(machine)
  return states.flatMap((from) =>
    states
      .filter((to) => to !== from)
      .map((to) => ({ from, to, allowed: Object.values(machine[from] ?? {}).includes(to) })),
  )
}

/** Puts the row into a state behind the guard's back, then tries the step. */
async function tries({ table, column, type }: Table, from: string, to: string): Promise<string> {
  const clear = sql(`test_drop_${table}`, `delete from ${table}`)
  const row = await db.row<{ row: string }>(
    sql(`test_row_${table}`, `select row_to_json(x)::text as row from ${table} x`),
    [],
  )
  await db.run(clear, [])
  const insert = sql(
    `test_insert_${table}`,
    `insert into ${table} select * from json_populate_record(null::${table}, $1::json)`,
  )
  await db.run(insert, [JSON.stringify({ ...JSON.parse(row?.row ?? '{}'), [column]: from })])
  const update = sql(`test_step_${table}`, `update ${table} set ${column} = $1::${type}`)
  return db.run(update, [to]).then(
    () => 'done',
    (error: unknown) => String((error as { constraint?: string }).constraint),
  )
}

describe.each([
  { table: 'payment', column: 'state', type: 'payment_state', machine: paymentMachine },
  { table: 'payer', column: 'state', type: 'payer_state', machine: payerMachine },
  { table: 'payee', column: 'payout_state', type: 'payout_state', machine: payoutMachine },
])('the $table table', ({ machine, ...table }) => {
  it.each(pairsOf(machine))(
    `the ${table.table} table allows $from to $to exactly where the state machine does`,
    async (pair) => {
      const guard = table.table === 'payee' ? 'payout_transition' : `${table.table}_transition`
      expect(await tries(table, pair.from, pair.to)).toBe(pair.allowed ? 'done' : guard)
    },
  )
})

describe('a settlement row', () => {
  const insert = sql(
    'test_settlement',
    `insert into settlement (settlement_id, project_id, payment_id, kind, payer_id, attempt_id,
       amount_minor, currency, create_time)
     values (gen_random_uuid(), '${id}', '${id}', $1::settlement_kind, '${id}', $2, 100, 'USD', now())`,
  )

  it('a settlement row exists once per payer, and once per duplicate', async () => {
    await db.run(insert, ['payer_receipt', 'a'])
    await expect(db.run(insert, ['late_receipt', 'b'])).rejects.toMatchObject({
      constraint: 'settlement_one_per_payer',
    })
    await db.run(insert, ['duplicate_receipt', 'b'])
    await expect(db.run(insert, ['duplicate_receipt', 'b'])).rejects.toMatchObject({
      constraint: 'settlement_one_per_duplicate',
    })
  })

  it.each([
    'update settlement set amount_minor = 1',
    'delete from settlement',
    'truncate settlement',
  ])('a settlement row cannot be touched by the service: %s', async (text) => {
    const statement = sql(`test_touch_${text.split(' ')[0]}`, text)
    await expect(db.run(statement, [])).rejects.toThrow(/permission denied/)
    const asOwner = database.open({ service: undefined })
    const owned = sql(
      `test_owner_${text.split(' ')[0]}`,
      text.replace('settlement', 'payments.settlement'),
    )
    await expect(asOwner.run(owned, [])).rejects.toThrow(/never changed/)
  })
})
