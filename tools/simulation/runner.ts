// Runs seeds, one after the other, on one database.
import { createHash } from 'node:crypto'
import { runBills } from './bills/run.ts'
import { runDelivery } from './delivery/run.ts'
import type { PartName } from './parts.ts'
import { runPayments } from './payments/run.ts'
import type { Server } from './postgres/server.ts'
import { connectServer } from './postgres/server.ts'
import type { Result } from './simulation.ts'

/** What a part of a seed came to; the history is left out when nobody wants it. */
export type PartResult = {
  name: PartName
  tookMs: number
  /** SHA-256 of the history. */
  digest: string
  broken: string[]
  history: readonly string[]
}

/** Which database, which parts, and whether the history of each seed is wanted. */
export type RunnerOptions = { url: string; parts: readonly PartName[]; wantsHistory: boolean }

/** Runs all parts of a seed until one breaks a rule. */
export type Runner = { run(seed: number): Promise<PartResult[]>; close(): Promise<void> }

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
      const results: PartResult[] = []
      for (const name of parts) {
        const startedMs = performance.now()
        const { broken, history } = await runs[name](server, seed)
        const digest = createHash('sha256').update(history.join('\n')).digest('hex')
        const isShown = wantsHistory || broken.length > 0
        const tookMs = performance.now() - startedMs
        results.push({ name, tookMs, digest, broken, history: isShown ? history : [] })
        if (broken.length > 0) break
      }
      return results
    },
    close: () => server.close(),
  }
}
