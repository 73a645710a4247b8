// What a soak looks at again and again: memory of each process, latency, work under way and the size of the data.
import type { Client } from 'pg'
import { readTreeRssMb } from '../../bench/load/processes.ts'
import { isBad } from '../check/answers.ts'
import type { Operation } from '../load/records.ts'
import { readLiveMb } from '../system/heaps.ts'
import type { System } from '../system/system.ts'

/** One look. */
export type Sample = {
  /** Seconds since the soak began. */
  atS: number
  /** Operations whose outcome was known by then. */
  operations: number
  /** What lives in the heaps in MB by process, after a collection of the garbage, and resident memory after that. */
  liveMb: Record<string, number>
  rssMb: Record<string, number>
  /** Of the requests since the look before, in milliseconds. */
  p50Ms: number
  p99Ms: number
  failed: number
  requests: number
  /** Rows that wait for work: events, pushes, tasks. */
  waiting: number
  /** Size of the database, and of its largest tables. */
  databaseMb: number
  tablesMb: Record<string, number>
}

const waitingRows = `
  select count(*)::integer as count from (
    select 1 from payments.outbox where confirmed_at is null
    union all select 1 from payments.task where done_time is null
    union all select 1 from delivery.delivery where state in ('pending', 'sending')
    union all select 1 from billing.bill_payment where settle_time is not null
    union all select 1 from institution.transaction where state in ('claimed', 'pending')
  ) as waiting`

const tableSizes = `
  select format('%s.%s', schemaname, relname) as name,
    round(pg_total_relation_size(relid) / 1048576.0, 2)::float8 as mb
  from pg_stat_user_tables where schemaname not like 'pg_%' order by mb desc limit 12`

/** Looks at a running system; `operations` are those that ended since the look before. */
export async function takeSample(
  client: Client,
  mesh: Pick<System['mesh'], 'dataDir' | 'processes'>,
  at: { atS: number; operations: number; ended: readonly Operation[] },
): Promise<Sample> {
  const pids = Object.fromEntries(
    Object.entries(mesh.processes()).map(([name, { pid }]) => [name, pid]),
  )
  const liveMb = await readLiveMb(mesh.dataDir, pids)
  const tries = at.ended.flatMap((operation) => operation.tries)
  const times = tries
    .filter((one) => !isBad(one))
    .map(({ sentMs, endMs }) => endMs - sentMs)
    .toSorted((one, other) => one - other)
  const share = (part: number): number => times[Math.floor(part * (times.length - 1))] ?? 0
  const { rows: waiting } = await client.query<{ count: number }>(waitingRows)
  const { rows: size } = await client.query<{ mb: number }>(
    'select pg_database_size(current_database()) / 1048576.0::float8 as mb',
  )
  const { rows: tables } = await client.query<{ name: string; mb: number }>(tableSizes)
  return {
    atS: at.atS,
    operations: at.operations,
    liveMb,
    rssMb: readTreeRssMb(pids),
    p50Ms: share(0.5),
    p99Ms: share(0.99),
    failed: tries.filter(isBad).length,
    requests: tries.length,
    waiting: waiting[0]?.count ?? Number.NaN,
    databaseMb: size[0]?.mb ?? Number.NaN,
    tablesMb: Object.fromEntries(tables.map(({ name, mb }) => [name, mb])),
  }
}
