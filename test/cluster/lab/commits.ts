// Commits of a bare client: for how long the cluster of PostgreSQL itself takes none, so that our share of a pause is known.
import { Client } from 'pg'
import type { Postgres } from './postgres.ts'

const everyMs = 250
const connectWithinMs = 500
const commitWithinMs = 5_000

/** Commits that go on until they are stopped. */
export type Commits = {
  /** Ends them, and resolves to the longest time in seconds between two of them. */
  stop(): Promise<number>
}

/** Begins a commit every 250 ms, also while earlier ones wait; each goes to the member that takes it. */
export async function startCommits(postgres: Postgres): Promise<Commits> {
  await onAny(postgres, 'create table if not exists commit_probe (at timestamptz not null)')
  const endedMs = [performance.now()]
  const underWay = new Set<Promise<void>>()
  const begin = (): void => {
    const commit = onAny(postgres, 'insert into commit_probe values (now())')
      .then(() => void endedMs.push(performance.now()))
      .catch(() => undefined)
      .finally(() => underWay.delete(commit))
    underWay.add(commit)
  }
  const timer = setInterval(begin, everyMs)
  return {
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
      const gaps = endedMs.slice(1).map((ms, index) => ms - (endedMs[index] ?? ms))
      return Math.max(...gaps) / 1_000
    },
  }
}

/** Runs a statement on the member that is the primary; rejects when none is. Standbys refuse to write. */
async function onAny({ members, url }: Postgres, statement: string): Promise<void> {
  await Promise.any(
    members.map(async (member) => {
      const client = new Client({
        connectionString: url('postgres', member),
        connectionTimeoutMillis: connectWithinMs,
        query_timeout: commitWithinMs,
      })
      // A connection that breaks also rejects what is sent on it.
      client.on('error', () => undefined)
      try {
        await client.connect()
        await client.query(statement)
      } finally {
        await client.end().catch(() => undefined)
      }
    }),
  )
}
