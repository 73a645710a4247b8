// Runs seeds, on each core one at a time, and reports.
import { createHash } from 'node:crypto'
import { startJob } from './jobs.ts'
import { type PartName, partNames, services } from './parts.ts'
import { startDatabases } from './postgres/databases.ts'
import type { Runner, RunnerOptions, SeedResult } from './runner.ts'

/** Which seeds, for how long. */
export type Wanted = {
  first: number
  count: number
  /** No seed begins after that. */
  withinMs: number
  /** The part that every seed runs; when undefined, seeds run all parts in turn. */
  part: string | undefined
  /** A superuser's URL of an empty database; a server of its own when undefined. */
  database: string | undefined
  /** Seeds that run at the same time. One, for a database that is given. */
  jobs: number
  showsHistory: boolean
}

const say = (line: string): boolean => process.stdout.write(`${line}\n`)

/** Runs them until one breaks a rule. Returns the exit code: 0 when none did, else 1. Throws for a part that is not there. */
export async function runSeeds(wanted: Wanted): Promise<number> {
  const { first, count, withinMs, part, database, showsHistory } = wanted
  const parts = partNames.filter((name) => part === undefined || part === name)
  if (parts.length === 0) throw new Error(`--part is one of ${partNames.join(', ')}`)
  const jobs = Math.max(1, Math.min(database === undefined ? wanted.jobs : 1, count))
  const databases = await startDatabases(services, { database, count: jobs })
  const report = createReport(parts, showsHistory)
  const beganMs = performance.now()
  let next = first
  async function runAll(runner: Runner): Promise<void> {
    try {
      while (next < first + count && !report.isBroken() && performance.now() - beganMs < withinMs) {
        const seed = next
        next += 1
        report.add(seed, await runner.run(seed))
      }
    } finally {
      await runner.close()
    }
  }
  try {
    await Promise.all(
      databases.urls.map(async (url) => {
        const options = { url, parts, wantsHistory: showsHistory }
        return runAll(jobs === 1 ? await runnerHere(options) : startJob(options))
      }),
    )
  } finally {
    await databases.stop()
  }
  report.end(first, count)
  return report.isBroken() ? 1 : 0
}

/** Only a process that runs seeds loads what they run. */
async function runnerHere(options: RunnerOptions): Promise<Runner> {
  const { openRunner } = await import('./runner.ts')
  return openRunner(options)
}

/** Collects what seeds come to, in any order. */
function createReport(parts: readonly PartName[], showsHistory: boolean) {
  const digests = new Map<number, string>()
  const totals = new Map(parts.map((name) => [name, { seeds: 0, tookMs: 0, faults: 0 }]))
  let isBroken = false
  return {
    isBroken: () => isBroken,
    add(seed: number, result: SeedResult): void {
      const { part, digest, broken, history } = result
      digests.set(seed, digest)
      const total = totals.get(part)
      if (total !== undefined) {
        total.seeds += 1
        total.tookMs += result.tookMs
        total.faults += result.faults
      }
      if (showsHistory || broken.length > 0) for (const line of history) say(line)
      if (broken.length === 0) return
      isBroken = true
      say(`seed ${seed} of ${part} broke these rules:`)
      for (const line of broken) say(`  ${line}`)
      say(`repeat it: npm run simulate -- --part ${part} --seed ${seed}`)
    },
    /** The digest is of the seeds in their order, not in that in which they ended. */
    end(first: number, wanted: number): void {
      const all = createHash('sha256')
      for (const [, digest] of [...digests].toSorted(([a], [b]) => a - b)) all.update(digest)
      say(`seeds: ${digests.size} from ${first}, histories: ${all.digest('hex')}`)
      if (digests.size < wanted && !isBroken)
        say(`${digests.size} of ${wanted} seeds: the time is over`)
      for (const [name, { seeds, tookMs, faults }] of totals) {
        if (seeds > 0)
          say(`${name}: ${seeds} seeds, ${faults} faults, ${(tookMs / 1_000).toFixed(1)} s`)
      }
    },
  }
}
