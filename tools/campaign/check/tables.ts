// Checks the tables once the system is at rest: they hold what was promised, each thing once, and the ledger is balanced.
import type { Client } from 'pg'
import { openDatabase } from '#platform/db/db.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { checkLedger } from '../../../services/accounts/ledger/workers/check.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { Operation, Records } from '../load/records.ts'
import { type Finding, findingOf } from './finding.ts'

/** What is under way, by what it is. */
const open = `
  select what, count(*)::integer as count from (
    select 'event of payments' as what from payments.outbox where confirmed_at is null and parked_at is null
    union all select 'event of accounts' from accounts.outbox where confirmed_at is null and parked_at is null
    union all select 'event of institution' from institution.outbox where confirmed_at is null and parked_at is null
    union all select 'event of billing' from billing.outbox where confirmed_at is null and parked_at is null
    union all select 'payment' from payments.payment where state in ('Pending', 'Partially_paid')
    union all select 'plan of a payer' from simulator.charge where act_at is not null
    union all select 'report of the back end' from simulator.report where delivered_at is null and parked_at is null
    union all select 'review' from simulator.review where decide_at is not null
    union all select 'consent' from simulator.consent where state = 'asked'
    union all select 'push' from delivery.delivery where state in ('pending', 'sending')
    union all select 'transaction' from institution.transaction where state in ('claimed', 'pending')
    union all select 'bill payment' from billing.bill_payment where state not in ('succeeded', 'failed') or settle_time is not null
    union all select 'hold of a bill payment' from billing.abandoned_hold
    union all select 'task of accounts' from accounts.backend_task where done_time is null
    union all select 'task of payments' from payments.task where done_time is null
    union all select 'hold' from accounts.hold where state = 'open'
  ) as waiting group by what`

/** Each finds rows that must not be. */
const rules: { rule: string; text: string }[] = [
  {
    rule: 'settlements without their transfer in the ledger, or transfers of payments without settlement',
    text: `select s.settlement_id, t.transfer_id from payments.settlement as s
      full join accounts.transfer as t on t.project_id = s.project_id and t.transfer_id = s.settlement_id
      where t.transfer_id is null or (s.settlement_id is null and t.method = 'payment')`,
  },
  {
    rule: 'money that came twice',
    text: `select payment_id from payments.settlement where kind = 'duplicate_receipt'`,
  },
  {
    rule: 'payments with one id of the merchant',
    text: `select merchant_id, transaction_id, count(*)::integer as count from payments.payment
      group by merchant_id, transaction_id having count(*) > 1`,
  },
  {
    rule: 'pushes that were given up',
    text: `select delivery_id, kind, state, attempts from delivery.delivery where state not in ('pending', 'sending', 'delivered')`,
  },
  {
    rule: 'events that were refused',
    text: `select 'delivery' as consumer from delivery.poison union all select 'accounts' from accounts.poison
      union all select 'outbox of payments' from payments.outbox where parked_at is not null
      union all select 'outbox of accounts' from accounts.outbox where parked_at is not null`,
  },
  {
    rule: 'bill payments whose biller, ledger and state differ',
    text: `select b.transaction_id, b.state from billing.bill_payment as b
      where (b.state = 'succeeded') <> exists (
          select from simulator.execution as e where e.kind = 'bill' and e.subject_id = b.bill_payment_id)
        or (select coalesce(sum(p.amount_minor), 0) from accounts.posting as p
            where p.transfer_id = b.bill_payment_id and p.internal is null)
          <> case when b.state = 'succeeded' then -b.amount_minor else 0 end`,
  },
  {
    rule: 'payments that are over and leave money in held or suspense',
    text: `select s.payment_id, p.internal, sum(p.amount_minor)::text as minor from payments.settlement as s
      join accounts.posting as p on p.project_id = s.project_id and p.transfer_id = s.settlement_id
      where p.internal in ('held', 'suspense') and not exists (
        select from payments.payee as y where y.payment_id = s.payment_id and y.payout_state in ('scheduled', 'sent'))
      group by s.payment_id, p.internal having sum(p.amount_minor) <> 0`,
  },
  {
    rule: 'use of limits that is not the sum of the movements',
    text: `select u.account_id, u.currency, u.span, u.used_minor, coalesce(sum(m.limit_minor), 0)::text as moved_minor
      from accounts.limit_usage as u
      left join accounts.movement as m on m.limit_account_id = u.account_id and m.limit_currency = u.currency
        and m.state <> 'cancelled' and date_trunc(u.span::text, m.begin_time at time zone 'UTC')::date = u.span_start
      group by u.account_id, u.currency, u.span, u.span_start, u.used_minor
      having u.used_minor <> coalesce(sum(m.limit_minor), 0)`,
  },
  {
    rule: 'transactions whose ledger and state differ',
    text: `select i.transaction_id, i.state from institution.transaction as i
      where (i.state = 'completed') <> exists (
        select from accounts.transfer as t where t.transfer_id = i.movement_id)`,
  },
]

/** Waits until nothing is under way; returns what was when the time was over. */
export async function settle(client: Client, withinMs: number): Promise<Finding[]> {
  let waiting: unknown[] = []
  await eventually(async () => {
    waiting = (await client.query(open)).rows
    return waiting.length === 0
  }, withinMs).catch(() => undefined)
  return findingOf('work that did not end', waiting)
}

export async function checkTables(client: Client, records: Records): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { rule, text } of rules)
    findings.push(...findingOf(rule, (await client.query(text)).rows))
  const { operations } = records
  return [
    ...findings,
    ...(await checkPayments(client, operations)),
    ...(await checkBills(client, operations)),
    ...(await checkTransfers(client, operations)),
  ]
}

async function checkPayments(client: Client, operations: Operation[]): Promise<Finding[]> {
  const paid = operations.filter(({ payment }) => payment !== undefined)
  const { rows } = await client.query<{ id: string; kind: string; sum: string }>(
    `select payment_id as id, kind::text, sum(amount_minor)::text as sum from payments.settlement
     where payment_id = any($1::uuid[])
       and kind in ('payer_receipt', 'late_receipt', 'refund', 'refund_returned') group by 1, 2`,
    [paid.map(({ resultId }) => resultId)],
  )
  const moved = Map.groupBy(rows, ({ id }) => id)
  const wrong = paid.flatMap(({ kind, id, resultId = '', payment }) => {
    const found = (moved.get(resultId) ?? []).map((row) => `${row.kind} ${row.sum}`).toSorted()
    const lists = (payment?.outcomes ?? []).map(({ money }) =>
      Object.entries(money)
        .map(([name, sum]) => `${name} ${sum}`)
        .toSorted(),
    )
    if (lists.length === 0 || lists.some((list) => list.join() === found.join())) return []
    return [`${kind} ${id}: moved [${found.join()}], wanted [${lists.join('] or [')}]`]
  })
  return findingOf('payments whose money is not what was promised', wrong)
}

async function checkBills(client: Client, operations: Operation[]): Promise<Finding[]> {
  const bills = operations.flatMap(({ id, bill }) => (bill === undefined ? [] : [{ id, ...bill }]))
  const { rows } = await client.query<{ key: string; state: string; receipt: string | null }>(
    `select idempotency_key as key, state::text, receipt_id as receipt from billing.bill_payment
     where idempotency_key = any($1)`,
    [bills.map(({ id }) => id)],
  )
  const stored = Map.groupBy(rows, ({ key }) => key)
  const states: Record<string, string> = { SUCCESS: 'succeeded', FAILED: 'failed' }
  const wrong = bills.flatMap(({ id, answer }) => {
    const [row, ...more] = stored.get(id) ?? []
    const isRight =
      more.length === 0 &&
      row?.state === states[String(answer['normalized_status'])] &&
      row?.receipt === answer['receipt_id']
    return isRight ? [] : [{ id, answer, stored: stored.get(id) }]
  })
  return findingOf('bill payments that are not what was answered', wrong)
}

async function checkTransfers(client: Client, operations: Operation[]): Promise<Finding[]> {
  const promised = operations.flatMap(({ transfers = [] }) => transfers)
  const asked = operations.filter(({ kind }) => kind === 'transfer' || kind === 'race')
  const { rows } = await client.query<{ id: string; receipt: string; state: string }>(
    `select transaction_id as id, receipt_id as receipt, state::text from institution.transaction
     where transaction_id = any($1)`,
    [asked.flatMap(({ id }) => [id, `${id}-0`, `${id}-1`])],
  )
  const stored = new Map(rows.map((row) => [row.id, row]))
  const wrong = promised.filter(({ id, receiptId, state }) => {
    const row = stored.get(id)
    return row?.receipt !== receiptId || row.state !== state
  })
  const known = new Set(promised.map(({ id }) => id))
  const broken = new Set(asked.filter((one) => one.broken !== undefined).map(({ id }) => id))
  const beside = rows.filter(({ id }) => !known.has(id) && !broken.has(id.replace(/-[01]$/, '')))
  return [
    ...findingOf(
      'transactions that are not what was answered',
      wrong.map(({ id, state }) => ({ id, state, stored: stored.get(id) })),
    ),
    ...findingOf('transactions beside the one that was answered', beside),
  ]
}

/** Runs the product's own check of rules L1 to L6. */
export async function checkBalances(databaseUrl: string): Promise<Finding[]> {
  const log = createLogger({ part: 'campaign', level: 'silent' })
  const db = openDatabase({ url: databaseUrl, service: 'accounts', log, readsWholeTables: true })
  try {
    const { findings } = await checkLedger(db)
    return findingOf('rules of the ledger', findings)
  } finally {
    await db.close()
  }
}
