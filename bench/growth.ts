// Compares creations and reads of the product beside a million payments with those on an empty database; no yardstick.
import { onSystem } from './compare.ts'
import { layDownPast, measureTables, type Stock, spreadPaymentIds } from './growth-store.ts'
import { type Measured, measure } from './measure.ts'
import { waitForQuiet } from './processes.ts'
import { table, whole } from './report.ts'
import { createShape, statusShape } from './requests.ts'
import { emptyFolder, onDatabaseOf, type System, startMesh, startMeshOn } from './systems.ts'

/** What the product did on one database. */
export type Grown = Stock & { create: Measured; status: Measured }

const isSmall = process.env['BENCH_GROWTH_SMALL'] === '1'
const past = isSmall
  ? { payments: 20_000, events: 100_000 }
  : { payments: 1_000_000, events: 5_000_000 }
/** While nothing but the laying down is at work. What is there in the end is on the disk and the same. */
const laying = {
  synchronous_commit: 'off',
  maintenance_work_mem: '1GB',
  max_wal_size: '16GB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
}
const spread = 20_000
const quietWithinMs = 30_000
const window = isSmall
  ? { warmUp: { answers: 300, mostMs: 2_000 }, measuredMs: 2_000 }
  : { warmUp: { answers: 6_000, mostMs: 12_000 }, measuredMs: 10_000 }

/** First on an empty database, then on a full one; four to five minutes. */
export async function compareGrowth(
  say: (line: string) => void,
): Promise<{ empty: Grown; full: Grown }> {
  const empty = await onSystem(startMesh, (system) => load(system))
  say(`empty: ${told(empty)}`)
  const dataDir = emptyFolder()
  const old = await startMeshOn(dataDir)
  // One payment to copy.
  const one = { ids: [], warmUp: { answers: 1, mostMs: 5_000 }, measuredMs: 1 }
  await measure(old, { shape: createShape(old.target), ...one })
  await old.stopServing()
  const begunMs = performance.now()
  await onDatabaseOf(dataDir, laying, (databaseUrl) => layDownPast(databaseUrl, past))
  say(`laid down in ${((performance.now() - begunMs) / 1_000).toFixed(0)} s`)
  const full = await onSystem(
    () => startMeshOn(dataDir),
    (system) => load(system),
  )
  say(`full: ${told(full)}`)
  return { empty, full }
}

async function load(system: System): Promise<Grown> {
  await waitForQuiet(quietWithinMs)
  const create = await measure(system, { shape: createShape(system.target), ids: [], ...window })
  const ids = await spreadPaymentIds(system.databaseUrl, spread)
  const status = await measure(system, { shape: statusShape(system.target), ids, ...window })
  return { create, status, ...(await measureTables(system.databaseUrl)) }
}

function told({ create, status, payments }: Grown): string {
  return `${create.perSecond.toFixed(0)} creates/s, ${status.perSecond.toFixed(0)} reads/s, ${payments} payments`
}

/** The comparison as Markdown. */
export function describeGrowth({ empty, full }: { empty: Grown; full: Grown }): string[] {
  const ratio = (of: (grown: Grown) => Measured): string =>
    (of(full).perSecond / of(empty).perSecond).toFixed(2)
  const postgres = (of: (grown: Grown) => Measured, grown: Grown): string =>
    whole(of(grown).cpuMicros['postgres'] ?? 0)
  const row = (what: string, of: (grown: Grown) => Measured): string[] => [
    what,
    whole(of(empty).perSecond),
    whole(of(full).perSecond),
    ratio(of),
    `${of(empty).p99Ms.toFixed(1)} / ${of(full).p99Ms.toFixed(1)}`,
    `${postgres(of, empty)} / ${postgres(of, full)}`,
    `${(of(empty).othersShare * 100).toFixed(0)} / ${(of(full).othersShare * 100).toFixed(0)}`,
  ]
  return [
    `Beside ${whole(full.payments)} payments and ${whole(full.events)} rows of outbox and inbox (${whole(full.megabytes)} MB of`,
    `tables and indexes) in place of ${whole(empty.payments)} and ${whole(empty.events)}; reads go over 20,000 of all payments.`,
    'At least 0.9 of the empty rate is wanted.',
    '',
    ...table(
      [
        'what',
        'empty /s',
        'full /s',
        'ratio',
        'p99 ms empty / full',
        'PostgreSQL µs empty / full',
        'taken by others, %',
      ],
      [row('create', (grown) => grown.create), row('status', (grown) => grown.status)],
    ),
  ]
}
