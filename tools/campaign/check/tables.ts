// Checks the tables once the system is at rest: they hold what was promised, each thing once, and the ledger is balanced.
import type { Client } from 'pg'
import { openDatabase } from '#platform/db/db.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { checkLedger } from '../../../services/accounts/ledger/workers/check.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { Operation, Records } from '../load/records.ts'
import { backEndRules } from './back-end.ts'
import { type Finding, findingOf } from './finding.ts'
import { open, rules } from './rules.ts'

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
  for (const { rule, text } of [...rules, ...backEndRules])
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
