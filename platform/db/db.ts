// The PostgreSQL client: one pool per service, named statements, transactions.
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, Pool, type PoolClient } from 'pg'
import { Failure } from '#core/errors/errors.ts'
import { ConfigurationError } from '../process/configuration-error.ts'
import type { Logger } from '../telemetry/log.ts'
import type { TestClock } from '../testing/clock.ts'
import { clientBy } from './client.ts'
import { breaksConnection, databaseFailure, isAborted, isRetriable } from './errors.ts'
import { serverUrls } from './server-urls.ts'
import { type DatabaseLimits, startupOptions } from './startup.ts'
import { exactTypes } from './types.ts'

export {
  isCheckViolation,
  isLockTimeout,
  isOfOneItem,
  isRefused,
  isUniqueViolation,
} from './errors.ts'
export type { DatabaseLimits } from './startup.ts'

/** A named prepared statement. Equal names must mean equal texts. */
export type Sql = { readonly name: string; readonly text: string }

/**
 * Runs statements: the database itself (each on its own) or a transaction. Every method rejects with a Failure: TIMEOUT
 * when the statement or the wait for a connection took too long, SERVICE_UNAVAILABLE when the server cannot be reached
 * or cannot work; and with the driver's DatabaseError for what the server refused, such as a violated constraint
 * (`isUniqueViolation`).
 */
export interface Queryable {
  /** All rows that the statement returns. */
  rows<T>(statement: Sql, values: unknown[]): Promise<T[]>
  /** The first row, or undefined when there is none. */
  row<T>(statement: Sql, values: unknown[]): Promise<T | undefined>
  /** The number of rows that the statement inserted, updated, deleted or selected. */
  run(statement: Sql, values: unknown[]): Promise<number>
}

/** A connection that is kept, for locks that last as long as its session. */
export interface Session extends Queryable {
  /** Resolves when the connection is lost or closed. */
  readonly closed: Promise<void>
  /** Closes the connection at once: statements in flight fail, and the locks of the session end. */
  close(): void
}

export type PoolStats = { total: number; idle: number; waiting: number; max: number }

export interface Database extends Queryable {
  /**
   * Runs `work` in one transaction (read committed) and commits. It runs again from the start, up to three times, when
   * PostgreSQL reports a serialization failure or a deadlock, so it must have no effect besides its statements. Rejects
   * with what `work` throws, as a Queryable does, and with SERVICE_UNAVAILABLE when the last repetition fails too.
   * After a TIMEOUT or a lost connection during the commit the outcome is unknown.
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /**
   * Takes a connection out of the pool until it is closed. Rejects with TIMEOUT or SERVICE_UNAVAILABLE when none can be
   * had.
   */
  session(): Promise<Session>
  /**
   * Whether the server, which must be a primary, answers a statement within 1.5 s. While all connections are in use, the answers to
   * other statements count instead. Never rejects.
   */
  ready(): Promise<boolean>
  /** Waits for the connections in use, then closes them all. */
  close(): Promise<void>
  /** The connections of the pool now; `waiting` counts the calls that wait for one. */
  stats(): PoolStats
}

export type DatabaseOptions = {
  url: string
  /** Service whose schema and role are entered; undefined stays with the role of the URL. */
  service: string | undefined
  log: Logger
  /** Holds the password, when the URL does not; read for each new connection. */
  passwordFile?: string | undefined
  poolSize?: number
  testClock?: TestClock
  limits?: Partial<DatabaseLimits>
  /** For full checks, and for callers that are not services; all other statements are planned to use an index. */
  readsWholeTables?: boolean
  /** Replaces the connections of the driver, for the simulation. */
  pool?: Pool
}

const defaultLimits: DatabaseLimits = {
  statementMs: 5_000,
  lockMs: 2_000,
  idleInTransactionMs: 10_000,
  acquireMs: 3_000,
}

/** The server enforces the statement limit; the client times out this much later, when nothing answers at all. */
const unansweredAfterMs = 3_000
const maxRetries = 3
const retryAfterMs = 20
/** Less than the time in which the health of a server must be known. */
const readyWithinMs = 1_500

const setClockOffset = sql(
  'set_clock_offset',
  "select set_config('payweave.clock_offset', $1, false)",
)
const recovery = sql('recovery', 'select pg_is_in_recovery() as recovering')

/**
 * Declares a named prepared statement. Throws an Error unless the name is at most 63 characters of lower snake case.
 */
export function sql(name: string, text: string): Sql {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name)) throw new Error(`bad statement name ${name}`)
  return { name, text }
}

/**
 * Opens the pool; nothing connects until the first statement. Throws a ConfigurationError for a URL that carries
 * `options` or that `serverUrls` refuses, and an Error for a bad service name.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { testClock, pool = openPool(options) } = options
  const servers = serverUrls(options.url).length
  let closing: Promise<void> | undefined
  let answeredMs = Number.NEGATIVE_INFINITY

  async function withConnection<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await acquire(pool, servers)
    const onError = (): void => {
      unusable.add(client)
    }
    client.on('error', onError)
    try {
      if (testClock !== undefined) await shiftClock(client, testClock)
      return await work(client)
    } finally {
      client.off('error', onError)
      const isUsable = !unusable.has(client)
      if (isUsable) answeredMs = performance.now()
      client.release(!isUsable)
    }
  }

  /**
   * Whether the server takes writes. A connection to a standby is closed, so that the next one looks for the primary.
   */
  const isPrimary = () =>
    withConnection(async (client) => {
      const [row] = (await query(client, recovery, [])).rows as { recovering: boolean }[]
      if (row?.recovering !== false) unusable.add(client)
      return row?.recovering === false
    })

  /** Whether statements wait for a connection while the server answers others, as it has since `sinceMs`. */
  const isBusy = (sinceMs: number) => pool.waitingCount > 0 && answeredMs >= sinceMs

  const once: Queryable = queryable((statement, values) =>
    withRetry(() => withConnection((client) => query(client, statement, values))),
  )

  return {
    ...once,
    transaction: (work) => withRetry(() => withConnection((client) => inTransaction(client, work))),
    session: async () => keptSession(await acquire(pool, servers)),
    ready() {
      const askedMs = performance.now()
      return Promise.race([
        isPrimary().catch(() => false),
        delay(readyWithinMs, undefined, { ref: false }).then(() => isBusy(askedMs)),
      ])
    },
    close: () => (closing ??= pool.end()),
    stats: () => ({
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      max: pool.options.max,
    }),
  }
}

function openPool(options: DatabaseOptions): Pool {
  const { url, service, log, poolSize = 16, limits: given } = options
  const limits = { ...defaultLimits, ...given }
  if (serverUrls(url).some((one) => new URL(one).searchParams.has('options'))) {
    throw new ConfigurationError('the database URL must not carry options: they would replace ours')
  }
  const pool = new Pool({
    Client: clientBy(options),
    options: startupOptions(options, limits),
    application_name: service === undefined ? 'payweave' : `payweave ${service}`,
    max: poolSize,
    min: 1,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: limits.acquireMs,
    query_timeout: limits.statementMs + unansweredAfterMs,
    keepAlive: true,
    pipeline: true,
    types: exactTypes,
  })
  pool.on('error', (error) => log.warn({ err: error }, 'idle database connection lost'))
  return pool
}

/** Each attempt that cannot connect is at another of the servers. */
async function acquire(pool: Pool, attempts: number): Promise<PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    if (error instanceof Error && error.message === 'timeout exceeded when trying to connect') {
      throw new Failure('TIMEOUT', 'no database connection became free', { cause: error })
    }
    if (attempts > 1) return acquire(pool, attempts - 1)
    throw new Failure('SERVICE_UNAVAILABLE', 'the database cannot be reached', { cause: error })
  }
}

function keptSession(client: PoolClient): Session {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  let isOpen = true
  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    // Without this, closing would wait for a statement that the server never answers.
    ;(client as unknown as Client).connection.stream.destroy()
    client.release(true)
    resolve()
  }
  client.on('error', close)
  client.on('end', close)
  return { ...queryable((statement, values) => query(client, statement, values)), closed, close }
}

/** Connections that must not go back to the pool. */
const unusable = new WeakSet<PoolClient>()

/** By how much each connection's test clock is shifted; a new connection is not. */
const clockOffsets = new WeakMap<PoolClient, number>()

async function shiftClock(client: PoolClient, { offsetMs }: TestClock): Promise<void> {
  if ((clockOffsets.get(client) ?? 0) === offsetMs) return
  await query(client, setClockOffset, [`${offsetMs} milliseconds`])
  clockOffsets.set(client, offsetMs)
}

type QueryResult = { rows: unknown[]; rowCount: number | null }

function queryable(send: (statement: Sql, values: unknown[]) => Promise<QueryResult>): Queryable {
  return {
    rows: async <T>(statement: Sql, values: unknown[]) =>
      (await send(statement, values)).rows as T[],
    row: async <T>(statement: Sql, values: unknown[]) =>
      (await send(statement, values)).rows[0] as T | undefined,
    run: async (statement, values) => (await send(statement, values)).rowCount ?? 0,
  }
}

/** The first statement that failed in a transaction, as it was thrown. */
type Failed = { error?: unknown }

function query(
  client: PoolClient,
  { name, text }: Sql,
  values: unknown[],
  failed?: Failed,
): Promise<QueryResult> {
  gather(client)
  return interpreted(client, client.query({ name, text, values }), failed)
}

async function control(
  client: PoolClient,
  command: 'begin' | 'commit' | 'rollback',
): Promise<string> {
  gather(client)
  return (await interpreted(client, client.query(command))).command
}

/** Connections on which something was sent in this turn. */
const gathering = new WeakSet<PoolClient>()

/** Sends all statements of one turn in one write, since a write costs both sides more than a small statement does. */
function gather(client: PoolClient): void {
  if (gathering.has(client)) return
  gathering.add(client)
  const { stream } = (client as unknown as Client).connection
  stream.cork()
  queueMicrotask(() => {
    gathering.delete(client)
    stream.uncork()
  })
}

async function interpreted<T>(
  client: PoolClient,
  answer: Promise<T>,
  failed: Failed = {},
): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (breaksConnection(error)) unusable.add(client)
    const thrown = databaseFailure(error) ?? error
    failed.error ??= thrown
    throw thrown
  }
}

async function inTransaction<T>(
  client: PoolClient,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  let over = false
  const failed: Failed = {}
  const tx = queryable((statement, values) => {
    if (over) throw new Error(`statement ${statement.name} came after the end of its transaction`)
    return query(client, statement, values, failed)
  })
  // Not awaited: BEGIN travels with the first statement of `work`, in one round trip. It fails only if the connection
  // does, and then that statement fails too.
  const begun = control(client, 'begin')
  let notBegun: unknown
  begun.catch((error: unknown) => {
    notBegun = error
  })
  try {
    const value = await work(tx)
    await begun
    over = true
    // If `work` caught the error of a statement, the transaction is aborted: the server answers COMMIT with ROLLBACK.
    if ((await control(client, 'commit')) !== 'COMMIT') {
      if (failed.error instanceof Failure) throw failed.error
      throw new Error('the transaction was rolled back: a failed statement in it was ignored')
    }
    return value
  } catch (error) {
    over = true
    await rollBack(client)
    // The first error is the cause: the server skipped all statements that were sent after it.
    throw notBegun ?? (isAborted(error) ? failed.error : error)
  }
}

/** A connection that cannot roll back is thrown away, and the server rolls back for it. */
async function rollBack(client: PoolClient): Promise<void> {
  if (unusable.has(client)) return
  await control(client, 'rollback').catch(() => unusable.add(client))
}

async function withRetry<T>(work: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isRetriable(error)) throw error
      if (retries === maxRetries) {
        throw new Failure('SERVICE_UNAVAILABLE', 'the database is contended', { cause: error })
      }
      // Lets the other transaction go first: an immediate retry would lock the same rows again before it.
      await delay(retryAfterMs + Math.random() * 10 * 2 ** retries)
    }
  }
}
