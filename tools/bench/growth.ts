// Compares creations and reads of the product beside a million payments with those on an empty database; no yardstick.

import { bulkLoad } from './bulk-load.ts'
import { onSystem } from './compare.ts'
import { type Measured, measure } from './load/measure.ts'
import { waitForQuiet } from './load/processes.ts'
import { createShape, type RequestShape, statusShape } from './load/requests.ts'
import {
  measureTables,
  newestPaymentIds,
  type Pages,
  pagesFetched,
  type Stock,
  spreadPaymentIds,
} from './store/growth-store.ts'
import { emptyFolder, type System, secondPorts, startMeshOn } from './systems.ts'

/** What one mesh did in a window, and what it had to fetch for each answer. */
export type Seen = Measured & { pages: Pages }

/** What both meshes did, one right after the other. */
export type GrowthTurn = { empty: Seen; full: Seen }

/** What was found. */
export type Growth = {
  empty: Stock
  full: Stock
  creates: GrowthTurn[]
  reads: GrowthTurn[]
  /** Of the full one, before the reads in turns: each of a payment that was not read since the start. */
  firstReads: Seen
}

const isSmall = process.env['BENCH_GROWTH_SMALL'] === '1'
const past = isSmall
  ? { payments: 20_000, events: 100_000 }
  : { payments: 1_000_000, events: 5_000_000 }
/** A folder that keeps the stored payments for the next run; what is measured adds some thousand payments. */
const keptFolder = process.env['BENCH_GROWTH_DIR'] ?? ''
const spread = isSmall ? 2_000 : 20_000
const newest = 2_000
const rounds = 3
const maxOthersShare = 0.1
/** What is done behind the answers of one mesh must not be paid by the other. Both idle at some hundredths of the machine. */
const quiet = { maxMs: 15_000, maxShare: 0.25 }
const warmUp = { warmUp: { answers: isSmall ? 300 : 6_000, maxMs: 12_000 }, measuredMs: 100 }
const window = { warmUp: { answers: 300, maxMs: 1_000 }, measuredMs: isSmall ? 1_000 : 6_000 }
const allOnce = { warmUp: { answers: spread, maxMs: 40_000 }, measuredMs: 100 }

type Meshes = { empty: System; full: System }
type Load = { shape: RequestShape; ids: string[] }

/** Both meshes stand at the same time and take turns; six minutes, four of them when the payments are stored already. */
export async function compareGrowth(say: (line: string) => void): Promise<Growth> {
  const folder = keptFolder || emptyFolder()
  await bulkLoad(folder, past, say)
  return await onSystem(
    () => startMeshOn(emptyFolder(), {}, secondPorts),
    (empty) =>
      onSystem(
        () => startFull(folder),
        (full) => compareBoth({ empty, full }, say),
      ),
  )
}

async function startFull(folder: string): Promise<System> {
  const system = await startMeshOn(folder)
  return keptFolder === '' ? system : { ...system, stop: system.stopServing }
}

function create(system: System): Load {
  return { shape: createShape(system.target), ids: [] }
}

async function compareBoth(meshes: Meshes, say: (line: string) => void): Promise<Growth> {
  const both = [meshes.empty, meshes.full]
  for (const system of both) await measure(system, { ...create(system), ...warmUp })
  const creates = await takeTurns(meshes, create, (line) => say(`creates ${line}`))

  const spreadIds = new Map<System, string[]>()
  for (const system of both) {
    spreadIds.set(system, await spreadPaymentIds(system.databaseUrl, spread))
    const ids = await newestPaymentIds(system.databaseUrl, newest)
    await measure(system, { shape: statusShape(system.target), ids, ...warmUp })
  }
  // From another place on each time: a turn finds not only what the turn before it has fetched.
  const read = (system: System): Load => ({
    shape: statusShape(system.target),
    ids: rotated(spreadIds.get(system) ?? []),
  })
  const firstReads = await look(meshes.full, read(meshes.full))
  say(`first reads: full ${firstReads.perSecond.toFixed(0)}/s`)
  await measure(meshes.full, { ...read(meshes.full), ...allOnce })
  const reads = await takeTurns(meshes, read, (line) => say(`reads ${line}`))
  return {
    empty: await measureTables(meshes.empty.databaseUrl),
    full: await measureTables(meshes.full.databaseUrl),
    creates,
    reads,
    firstReads,
  }
}

async function takeTurns(
  { empty, full }: Meshes,
  load: (system: System) => Load,
  say: (line: string) => void,
): Promise<GrowthTurn[]> {
  const turns: GrowthTurn[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const turn = {
      empty: await look(empty, load(empty)),
      full: await look(full, load(full)),
    }
    turns.push(turn)
    const rates = `empty ${turn.empty.perSecond.toFixed(0)}/s, full ${turn.full.perSecond.toFixed(0)}/s`
    say(`${round}: ${rates}`)
  }
  return turns
}

/** One window, once the work behind what was before is done; another one when others took too much of the machine. */
async function look(system: System, load: Load): Promise<Seen> {
  const seen = await lookOnce(system, load)
  return seen.othersShare <= maxOthersShare ? seen : await lookOnce(system, load)
}

async function lookOnce(system: System, load: Load): Promise<Seen> {
  await waitForQuiet(quiet.maxMs, quiet.maxShare)
  const before = await pagesFetched(system.databaseUrl)
  const measured = await measure(system, { ...load, ...window })
  const after = await pagesFetched(system.databaseUrl)
  const { accepted } = measured
  return {
    ...measured,
    pages: {
      hit: (after.hit - before.hit) / accepted,
      missed: (after.missed - before.missed) / accepted,
    },
  }
}

function rotated<T>(values: T[]): T[] {
  const at = Math.floor(Math.random() * values.length)
  return [...values.slice(at), ...values.slice(0, at)]
}
