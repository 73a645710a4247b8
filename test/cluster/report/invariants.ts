// Counts what breaks a rule: the answers of clients, the rows of the database and the pushes must agree.
import type { Client } from 'pg'
import { connectClient } from '#platform/db/client.ts'
import { openDatabase } from '#platform/db/db.ts'
import { checkLedger } from '../../../services/accounts/ledger/workers/check.ts'
import { silentLog } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { billMinor, pushesOfPayment } from '../load/operations.ts'
import type { Kind, Operation, Records } from '../load/records.ts'

/** By what is counted; each must be 0. */
export type Counts = Record<string, number>

const settleWithinMs = 180_000

/** What is under way; the invariants hold when nothing is left. */
const open = `
  select count(*)::integer as count from (
    select 1 from payments.payment where state in ('Pending', 'Partially_paid')
    union all select 1 from payments.outbox where confirmed_at is null and parked_at is null
    union all select 1 from accounts.outbox where confirmed_at is null and parked_at is null
    union all select 1 from institution.outbox where confirmed_at is null and parked_at is null
    union all select 1 from billing.outbox where confirmed_at is null and parked_at is null
    union all select 1 from delivery.delivery where state in ('pending', 'sending')
    union all select 1 from institution.transaction where state in ('claimed', 'pending')
    union all select 1 from billing.bill_payment where settle_time is not null
    union all select 1 from billing.abandoned_hold
  ) as waiting`

/** Each counts rows that must not be; $1 are the ids that the system gave to the operations of one kind. */
const rules: { name: string; of: Kind; text: string }[] = [
  {
    name: 'acknowledged payments that are lost or not paid',
    of: 'create',
    text: `select count(*)::integer as count from unnest($1::uuid[]) as known (id)
      left join payments.payment on payment_id = id where state is distinct from 'paid'`,
  },
  {
    name: 'payments without exactly one receipt and one payout',
    of: 'create',
    text: `select count(*)::integer as count from (
        select id from unnest($1::uuid[]) as known (id)
        left join payments.settlement on payment_id = id group by id
        having count(*) filter (where kind = 'payer_receipt') <> 1
          or count(*) filter (where kind = 'payout') <> 1
          or count(*) filter (where kind in ('late_receipt', 'duplicate_receipt', 'refund')) > 0
      ) as uneven`,
  },
  {
    name: 'settlements without a ledger transfer',
    of: 'create',
    text: `select count(*)::integer as count from payments.settlement as s
      left join accounts.transfer as t on t.transfer_id = s.settlement_id
      where s.payment_id = any($1::uuid[]) and t.transfer_id is null`,
  },
  {
    name: 'bill payments that did not succeed exactly once at the biller and in the ledger',
    of: 'bill',
    text: `select count(*)::integer as count from unnest($1::text[]) as known (id)
      left join billing.bill_payment as b on b.transaction_id = id
      where b.state is distinct from 'succeeded'
        or (select count(*) from simulator.execution as e
            where e.kind = 'bill' and e.subject_id = b.bill_payment_id) <> 1
        or (select coalesce(sum(p.amount_minor), 0) from accounts.posting as p
            where p.transfer_id = b.bill_payment_id and p.amount_minor < 0) <> -${billMinor}`,
  },
  {
    name: 'transfers that are not completed, or not in the ledger',
    of: 'transfer',
    text: `select count(*)::integer as count from unnest($1::text[]) as known (id)
      left join institution.transaction as i on i.receipt_id = id
      left join accounts.transfer as t on t.transfer_id = i.movement_id
      where i.state is distinct from 'completed' or t.transfer_id is null`,
  },
  {
    name: 'acknowledged quotes that are lost',
    of: 'quote',
    text: `select count(*)::integer as count from unnest($1::uuid[]) as known (id)
      left join quotes.quote as q on q.quote_id = id where q.quote_id is null`,
  },
]

/** Waits until nothing is under way; returns how much was when the time was over. */
async function settle(client: Client): Promise<number> {
  const last = { count: Number.NaN }
  await eventually(async () => {
    const { rows } = await client.query<{ count: number }>(open)
    last.count = rows[0]?.count ?? Number.NaN
    return last.count === 0
  }, settleWithinMs).catch(() => undefined)
  return last.count
}

/** Waits until the system is at rest, and counts everything that breaks a rule. */
export async function countViolations(databaseUrl: string, records: Records): Promise<Counts> {
  const client = await connectClient({ url: databaseUrl }, {})
  try {
    const counts: Counts = { 'rows under way at the end': await settle(client) }
    for (const { name, of, text } of rules) {
      const ids = idsOf(records.operations, of)
      const { rows } = await client.query<{ count: number }>(text, [ids])
      counts[name] = rows[0]?.count ?? Number.NaN
    }
    counts['rows of creates beyond those that were asked for'] = await unasked(client, records)
    counts['deliveries that were given up, events that were refused'] = await givenUp(client)
    counts['findings of the ledger check'] = await ledgerFindings(databaseUrl)
    return { ...counts, ...pushViolations(records) }
  } finally {
    await client.end()
  }
}

function idsOf(operations: Operation[], kind: Kind): string[] {
  return operations
    .filter((operation) => operation.kind === kind)
    .map(({ id, resultId }) => resultId ?? `no outcome of ${id}`)
}

async function unasked(client: Client, { operations }: Records): Promise<number> {
  const asked = operations.filter(({ kind }) => kind === 'create').map(({ id }) => id)
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from payments.payment where transaction_id = any($1)',
    [asked],
  )
  return Math.abs((rows[0]?.count ?? Number.NaN) - asked.length)
}

async function givenUp(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::integer as count from (
       select 1 from delivery.delivery where state not in ('pending', 'sending', 'delivered')
       union all select 1 from delivery.poison
       union all select 1 from accounts.poison
     ) as dead`,
  )
  return rows[0]?.count ?? Number.NaN
}

async function ledgerFindings(databaseUrl: string): Promise<number> {
  const db = openDatabase({
    url: databaseUrl,
    service: 'accounts',
    log: silentLog,
    readsWholeTables: true,
  })
  try {
    return (await checkLedger(db)).findings.length
  } finally {
    await db.close()
  }
}

/** Every payment has each of its pushes, each of them one delivery whose body never changes. */
function pushViolations({ operations, pushes }: Records): Counts {
  const digests = new Map<string, Set<string>>()
  const received = new Map<string, Map<string, Set<string>>>()
  for (const { deliveryId, transactionId, what, digest } of pushes) {
    digests.set(deliveryId, (digests.get(deliveryId) ?? new Set()).add(digest))
    const ofPayment = received.get(transactionId) ?? new Map<string, Set<string>>()
    received.set(transactionId, ofPayment)
    ofPayment.set(what, (ofPayment.get(what) ?? new Set()).add(deliveryId))
  }
  const created = operations.filter(({ kind }) => kind === 'create')
  const isWhole = (id: string) => {
    const ofPayment = received.get(id) ?? new Map<string, Set<string>>()
    const names = [...ofPayment.keys()].toSorted()
    const areSingle = [...ofPayment.values()].every(({ size }) => size === 1)
    return areSingle && names.join() === pushesOfPayment.join()
  }
  return {
    'payments without exactly their five pushes': created.filter(({ id }) => !isWhole(id)).length,
    'pushes whose body changed': [...digests.values()].filter(({ size }) => size > 1).length,
  }
}
