// Runs seeds, one after the other, on one database.
import { createHash } from 'node:crypto'
import { runBills } from './bills/run.ts'
import { runDelivery } from './delivery/run.ts'
import type { PartName } from './parts.ts'
import { runPayments } from './payments/run.ts'
import type { Server } from './postgres/server.ts'
import { connectServer } from './postgres/server.ts'
import type { Result } from './simulation.ts'

/** What a seed came to; the history is left out when nobody wants it. */
export type SeedResult = {
  part: PartName
  tookMs: number
  /** SHA-256 of the history. */
  digest: string
  broken: string[]
  history: readonly string[]
  /** Crashes, pauses, cuts and failures of the broker. */
  faults: number
}

/** Which database, the parts that seeds take in turn, and whether the history of each seed is wanted. */
export type RunnerOptions = { url: string; parts: readonly PartName[]; wantsHistory: boolean }

/** Runs a seed: one part of the simulation, by the number of the seed. */
export type Runner = { run(seed: number): Promise<SeedResult>; close(): Promise<void> }

const runs: Record<PartName, (server: Server, seed: number) => Promise<Result>> = {
  delivery: runDelivery,
  bills: runBills,
  payments: runPayments,
}

/** Connects to a database that `startDatabases` has prepared. */
export async function openRunner({ url, parts, wantsHistory }: RunnerOptions): Promise<Runner> {
  const server = await connectServer(url)
  return {
    async run(seed) {
      const part = parts[seed % parts.length] as PartName
      const startedMs = performance.now()
      const { broken, history, faults } = await runs[part](server, seed)
      const digest = createHash('sha256').update(history.join('\n')).digest('hex')
      const isShown = wantsHistory || broken.length > 0
      const tookMs = performance.now() - startedMs
      return { part, tookMs, digest, broken, history: isShown ? history : [], faults }
    },
    close: () => server.close(),
  }
}
