// The PostgreSQL of the simulation: a real one, whose statements take their time from the simulated clock, and which runs the
// statements of its sessions one at a time.
import { Client } from 'pg'
import type { SchemaOwner } from '#platform/db/schemas.ts'
import { startupOptions } from '#platform/db/startup.ts'
import { exactTypes } from '#platform/db/types.ts'
import { services } from '../parts.ts'
import { listTouchedTables, setClock } from './simulation-store.ts'

/** The stream of a connection, which the types of the driver leave out. */
type Corked = { connection: { stream: { cork(): void; uncork(): void } } }

/** What the server answers to a statement. */
export type StatementResult = { rows: unknown[]; rowCount: number | null; command: string }
export type Outcome = { answer: StatementResult } | { error: unknown }

/** A command of a transaction, or a named statement with its values. */
export type Statement = string | { name: string; text: string; values: unknown[] }

/** A connection in the role of a service, kept from run to run. */
export type ServerSession = { readonly client: Client; readonly pid: number }

/** A statement that runs or waits for a lock. */
type Running = {
  session: ServerSession
  outcome: Outcome | undefined
  /** The SQLSTATE with which the simulation has ended its wait. */
  cancelledAs: string | undefined
  settled: Promise<void>
  onEnd: (outcome: Outcome) => void
}

/** A statement to run, at a simulated time, for a process. `onEnd` gets its outcome, at once or when its wait for a lock ends. */
export type Run = {
  session: ServerSession
  statement: Statement
  /** BEGIN goes before it. */
  begins: boolean
  nowMs: number
  by: string
  onEnd: (outcome: Outcome) => void
}

export type Server = {
  /** A session that nobody uses. */
  take(service: SchemaOwner): Promise<ServerSession>
  /** Gives one back that has no transaction and no locks. */
  free(service: SchemaOwner, session: ServerSession): void
  /** Gives one back: its transaction ends, and so do its locks. */
  giveBack(service: SchemaOwner, session: ServerSession): Promise<void>
  /** Runs a statement; resolves when every session has answered or waits for a lock. */
  run(run: Run): Promise<void>
  isWaiting(session: ServerSession): boolean
  /** Whether the session waits for one that waits for it. */
  isDeadlocked(session: ServerSession): Promise<boolean>
  /** Ends the wait with the error of a SQLSTATE. */
  cancel(session: ServerSession, sqlState: string): Promise<void>
  /** Reads as the superuser, what is committed. */
  read<T>(text: string, values?: unknown[]): Promise<T[]>
  /** Empties all tables. */
  reset(): Promise<void>
  close(): Promise<void>
}

const realTimeout = setTimeout
const clearReal = clearTimeout
/** A statement that has not answered by then may wait for a lock: PostgreSQL is asked, and if it does not wait, again after twice as long. */
const askAfterMs = 3

/** Connects to a database that `startDatabases` has prepared. */
export async function connectServer(url: string): Promise<Server> {
  const owner = new Client({ connectionString: url, types: exactTypes })
  await owner.connect()
  // Between runs even tables that refuse it are emptied.
  await owner.query('set session_replication_role = replica')
  return serverOn({ url, owner, kept: await listTouchedTables(owner, services) })
}

/** A database whose tables are empty, except the kept ones. */
type Prepared = { url: string; owner: Client; kept: string[] }

function serverOn({ url, owner, kept }: Prepared): Server {
  const idle = new Map<SchemaOwner, ServerSession[]>(services.map((service) => [service, []]))
  const all: Client[] = [owner]
  const running = createRunning(owner)
  /** Of what the simulation reads: prepared, because it looks again and again. */
  const names = new Map<string, string>()

  async function open(service: SchemaOwner): Promise<ServerSession> {
    const limits = { statementMs: 0, lockMs: 0, idleInTransactionMs: 0, acquireMs: 0 }
    // The simulation ends deadlocks and long waits by its own clock.
    const options = `${startupOptions({ service }, limits)} -c deadlock_timeout=1h -c synchronous_commit=off`
    const config = { connectionString: url, options, pipeline: true, types: exactTypes }
    const client = new Client(config)
    await client.connect()
    all.push(client)
    const { pid } = (await client.query('select pg_backend_pid() as pid')).rows[0] as {
      pid: number
    }
    return { client, pid }
  }

  return {
    take: async (service) => idle.get(service)?.pop() ?? open(service),
    free: (service, session) => void idle.get(service)?.push(session),
    async giveBack(service, session) {
      await session.client.query('rollback')
      await session.client.query('select pg_advisory_unlock_all()')
      await running.settle()
      idle.get(service)?.push(session)
    },
    async run({ session, statement, begins, nowMs, by, onEnd }) {
      const name = typeof statement === 'string' ? statement : statement.name
      const { stream } = (session.client as unknown as Corked).connection
      stream.cork()
      // In a transaction that has failed all are refused.
      if (begins) session.client.query('begin').catch(() => undefined)
      if (typeof statement !== 'string') setClock(session.client, nowMs, by, name)
      const answer = session.client.query(statement)
      // All of it in one write: the server is woken once.
      stream.uncork()
      await running.add(session, answer, onEnd)
    },
    isWaiting: (session) => running.isWaiting(session),
    isDeadlocked: async (session) => (await running.cycleOf(session)).has(session.pid),
    cancel: (session, sqlState) => running.cancel(session, sqlState),
    async read<T>(text: string, values: unknown[] = []) {
      const name = names.get(text) ?? `simulation_read_${names.size}`
      names.set(text, name)
      return (await owner.query({ name, text, values })).rows as T[]
    },
    async reset() {
      const touched = await listTouchedTables(owner, services)
      const tables = touched.filter((table) => !kept.includes(table))
      if (tables.length > 0)
        await owner.query(`truncate ${tables.join(', ')} restart identity cascade`)
    },
    async close() {
      await Promise.all(all.map((client) => client.end()))
    },
  }
}

/** The statements that have not answered. Those that are there between two events all wait for locks. */
function createRunning(owner: Client) {
  let open: Running[] = []

  async function add(
    session: ServerSession,
    answer: Promise<StatementResult>,
    onEnd: (outcome: Outcome) => void,
  ): Promise<void> {
    const one: Running = {
      session,
      outcome: undefined,
      cancelledAs: undefined,
      settled: Promise.resolve(),
      onEnd,
    }
    one.settled = answer.then(
      (answer) => void (one.outcome = { answer }),
      (error: unknown) => void (one.outcome = { error: renamed(error, one.cancelledAs) }),
    )
    open.push(one)
    await firstOf([one], askAfterMs)
    await settle()
  }

  /** Lets every statement end that can, and then calls their `onEnd` in the order in which they began. */
  async function settle(): Promise<void> {
    for (let agreed = 0, waitMs = askAfterMs; agreed < 2; waitMs *= 2) {
      const unanswered = open.filter(({ outcome }) => outcome === undefined)
      if (unanswered.length === 0) break
      const blocked = await blockers(unanswered)
      const mayRun = unanswered.filter(({ session }) => !blocked.has(session.pid))
      // Asked twice: between two answers of the server to one question another session may have gone on.
      agreed = mayRun.length === 0 ? agreed + 1 : 0
      if (mayRun.length > 0) await firstOf(mayRun, waitMs)
    }
    const ended = open.filter(({ outcome }) => outcome !== undefined)
    open = open.filter(({ outcome }) => outcome === undefined)
    for (const { outcome, onEnd } of ended) onEnd(outcome as Outcome)
  }

  /** By process id of a session that waits, those that it waits for. */
  async function blockers(waiting: readonly Running[]): Promise<Map<number, number[]>> {
    const pids = waiting.map(({ session }) => session.pid)
    const { rows } = await owner.query<{ pid: number; by: number[] }>({
      name: 'simulation_blockers',
      text: `select pid, pg_blocking_pids(pid) as by from unnest($1::integer[]) as p(pid)
             where cardinality(pg_blocking_pids(pid)) > 0`,
      values: [pids],
    })
    return new Map(rows.map(({ pid, by }) => [pid, by]))
  }

  return {
    add,
    settle,
    isWaiting: (session: ServerSession) => open.some((one) => one.session === session),
    /** The sessions that this one waits for, directly or through others. */
    async cycleOf(session: ServerSession): Promise<Set<number>> {
      const blocked = await blockers(open)
      const reached = new Set<number>()
      const next = [...(blocked.get(session.pid) ?? [])]
      for (let pid = next.pop(); pid !== undefined; pid = next.pop()) {
        if (reached.has(pid)) continue
        reached.add(pid)
        next.push(...(blocked.get(pid) ?? []))
      }
      return reached
    },
    async cancel(session: ServerSession, sqlState: string): Promise<void> {
      const one = open.find((candidate) => candidate.session === session)
      if (one === undefined) return
      one.cancelledAs = sqlState
      await owner.query('select pg_cancel_backend($1)', [session.pid])
      await one.settled
      await settle()
    },
  }
}

/** The error of a cancelled statement, with the SQLSTATE of the limit that the simulation has applied. */
function renamed(error: unknown, sqlState: string | undefined): unknown {
  return sqlState === undefined ? error : Object.assign(error as Error, { code: sqlState })
}

/** Resolves when one of them has ended, or after `withinMs` real milliseconds. */
async function firstOf(running: readonly Running[], withinMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = realTimeout(resolve, withinMs)
  })
  await Promise.race([late, ...running.map(({ settled }) => settled)])
  clearReal(timer)
}
