// Runs seeds one after the other on one server, and reports.
import { createHash } from 'node:crypto'
import { runBills } from './bills/run.ts'
import { runDelivery } from './delivery/run.ts'
import { startServer } from './postgres/server.ts'

/** What a seed runs, one after the other. */
const parts = { delivery: runDelivery, bills: runBills }

/** Which seeds, for how long. */
export type Wanted = {
  first: number
  count: number
  /** No seed begins after that. */
  withinMs: number
  /** The only part to run; both when undefined. */
  part: string | undefined
  /** A superuser's URL of an empty database; a server of its own when undefined. */
  database: string | undefined
  showsHistory: boolean
}

const say = (line: string): boolean => process.stdout.write(`${line}\n`)

/** Runs them until one breaks a rule. Returns the exit code: 0 when none did, else 1. Throws for a part that is not there. */
export async function runSeeds(wanted: Wanted): Promise<number> {
  const { first, count, withinMs, part, database, showsHistory } = wanted
  const chosen = Object.entries(parts).filter(([name]) => part === undefined || part === name)
  if (chosen.length === 0) throw new Error(`--part is one of ${Object.keys(parts).join(', ')}`)
  const server = await startServer(['payments', 'delivery', 'accounts', 'billing'], database)
  const beganMs = performance.now()
  const digest = createHash('sha256')
  const tookMs = new Map(chosen.map(([name]) => [name, 0]))
  let ran = 0
  let isBroken = false
  try {
    while (ran < count && !isBroken && performance.now() - beganMs < withinMs) {
      const seed = first + ran
      ran += 1
      for (const [name, run] of chosen) {
        const startedMs = performance.now()
        const { broken, history } = await run(server, seed)
        tookMs.set(name, (tookMs.get(name) ?? 0) + performance.now() - startedMs)
        digest.update(history.join('\n'))
        if (showsHistory || broken.length > 0) for (const line of history) say(line)
        if (broken.length === 0) continue
        isBroken = true
        say(`seed ${seed} of ${name} broke these rules:`)
        for (const line of broken) say(`  ${line}`)
        say(`repeat it: npm run simulate -- --part ${name} --seed ${seed}`)
      }
    }
  } finally {
    await server.close()
  }
  say(`seeds: ${ran}, histories: ${digest.digest('hex')}`)
  for (const [name, ms] of tookMs) say(`${name}: ${(ms / 1_000).toFixed(1)} s`)
  return isBroken ? 1 : 0
}
