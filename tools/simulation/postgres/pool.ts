// The connections of a simulated process to PostgreSQL, in place of the pool of the driver: every request and every answer takes
// its simulated time, and may be lost with its connection.
import { EventEmitter } from 'node:events'
import type { Pool } from 'pg'
import type { SchemaOwner } from '#platform/db/schemas.ts'
import type { Process, Scheduler } from '../engine/scheduler.ts'
import type { Network } from '../network.ts'
import type { Outcome, Server, ServerSession, Statement, StatementResult } from './server.ts'
import { nameOf, ownLockMs, takesLock, withoutLimit } from './statement.ts'

/** What a pool needs. */
export type PoolOptions = {
  scheduler: Scheduler
  network: Network
  server: Server
  service: SchemaOwner
  process: Process
}

/** The limits of production, which the simulation applies by its own clock. */
const limits = { lockMs: 2_000, deadlockMs: 1_000, idleInTransactionMs: 10_000, acquireMs: 3_000 }
/** The driver gives up on an answer. */
const unansweredMs = 8_000
const maxConnections = 5

type Item = {
  statement: Statement
  resolve: (answer: StatementResult) => void
  reject: (error: unknown) => void
}

/**
 * A server's end of a connection. Between transactions it needs no session of the real server, unless it holds locks. So a
 * small number of sessions serves many connections, and the server plans each statement on few of them.
 */
type Backend = {
  session: ServerSession | undefined
  /** The session holds advisory locks. */
  isBound: boolean
  arrived: Item[]
  isBusy: boolean
  /** BEGIN has come; it is sent with the statement that follows. */
  begins: boolean
  inTransaction: boolean
  /** Changes with each statement, so that a limit knows whether its wait goes on. */
  turn: number
  isClosed: boolean
  /** The client is gone: the session ends when what it has sent is done. */
  isLeft: boolean
}

const terminated = (): Error => new Error('Connection terminated unexpectedly')
/** A client as `pg` has them, as far as `platform/db/db.ts` uses it. */
class SimulatedClient extends EventEmitter {
  readonly connection = {
    stream: { cork: () => undefined, uncork: () => undefined, destroy: () => this.leave() },
  }
  readonly #options: PoolOptions
  readonly #backend: Backend
  readonly #onRelease: (client: SimulatedClient, destroy: boolean) => void
  readonly #waiting = new Set<Item>()
  #sentMs = 0
  #answeredMs = 0
  isLost = false

  constructor(
    options: PoolOptions,
    onRelease: (client: SimulatedClient, destroy: boolean) => void,
  ) {
    super()
    this.#options = options
    this.#onRelease = onRelease
    this.#backend = {
      session: undefined,
      isBound: false,
      arrived: [],
      isBusy: false,
      begins: false,
      inTransaction: false,
      turn: 0,
      isClosed: false,
      isLeft: false,
    }
  }

  query(statement: Statement): Promise<StatementResult> {
    const { scheduler, network, process } = this.#options
    return new Promise((resolve, reject) => {
      if (this.isLost) return reject(new Error('Client has encountered a connection error'))
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T) => {
          if (!this.#waiting.delete(item)) return
          cancel()
          how(value)
        }
      const item: Item = { statement, resolve: settle(resolve), reject: settle(reject) }
      this.#waiting.add(item)
      const late = () => item.reject(new Error('Query read timeout'))
      const cancel = scheduler.after(unansweredMs, late, process)
      // In order, as the bytes of a connection arrive.
      const atMs = Math.max(this.#sentMs, scheduler.nowMs() + network.delayMs('database'))
      this.#sentMs = atMs
      scheduler.after(atMs - scheduler.nowMs(), () => this.#arrive(item))
    })
  }

  release(destroy: unknown = false): void {
    this.#onRelease(this, destroy === true)
  }

  /** Closes the client's end. What was sent may be executed all the same. */
  leave(): void {
    if (this.#backend.isLeft) return
    const { scheduler, network } = this.#options
    this.#backend.isLeft = true
    this.#lose(terminated())
    const atMs = Math.max(this.#sentMs, scheduler.nowMs() + network.delayMs('database'))
    scheduler.after(atMs - scheduler.nowMs(), () => this.#end())
  }

  /** The process is gone. The server notices at once, or, when its machine is gone too, only later. */
  abandon(noticedAfterMs: number, losesRequests: boolean): void {
    this.#backend.isLeft = true
    this.isLost = true
    if (losesRequests) this.#sentMs = Number.POSITIVE_INFINITY
    this.#options.scheduler.after(noticedAfterMs, () => this.#end())
  }

  /** Nothing of the client reaches the server any more. It learns of that at once or, if `isSilent`, by its time limits. */
  cut(noticedAfterMs: number, isSilent: boolean): void {
    const { scheduler, network, process } = this.#options
    this.#sentMs = Number.POSITIVE_INFINITY
    scheduler.after(noticedAfterMs, () => this.#end())
    const lose = () => this.#lose(terminated())
    if (!isSilent) scheduler.after(network.delayMs('database'), lose, process)
  }

  async #arrive(item: Item): Promise<void> {
    const backend = this.#backend
    if (backend.isClosed || this.#sentMs === Number.POSITIVE_INFINITY) return
    if (this.#options.network.isLost('request')) {
      // Nothing that was sent after it arrives: a COMMIT without its BEGIN would be executed otherwise.
      this.#sentMs = Number.POSITIVE_INFINITY
      return this.#break()
    }
    backend.arrived.push(item)
    await this.#work()
  }

  /** Executes what has come, one statement in an event. */
  async #work(): Promise<void> {
    const backend = this.#backend
    if (backend.isBusy || backend.isClosed) return
    const item = backend.arrived.shift()
    if (item === undefined) return
    const { scheduler, server, process, service } = this.#options
    backend.turn += 1
    if (item.statement === 'begin') {
      backend.begins = true
      return this.#answer(item, { answer: { rows: [], rowCount: null, command: 'BEGIN' } })
    }
    backend.isBusy = true
    const session = backend.session ?? (await server.take(service))
    backend.session = session
    backend.isBound ||= takesLock(item.statement)
    const { begins } = backend
    backend.begins = false
    backend.inTransaction ||= begins
    await server.run({
      session,
      statement: withoutLimit(item.statement),
      begins,
      nowMs: scheduler.nowMs(),
      by: process.name,
      onEnd: (outcome) => this.#ended(item, outcome),
    })
    if (backend.isBusy && server.isWaiting(session)) this.#limitWait(item, session)
  }

  #limitWait(item: Item, session: ServerSession): void {
    const backend = this.#backend
    const { scheduler, server, process } = this.#options
    const { turn } = backend
    scheduler.record(process.name, `${nameOf(item.statement)} waits for a lock`)
    const waits = () => backend.turn === turn && backend.isBusy && server.isWaiting(session)
    scheduler.after(limits.deadlockMs, async () => {
      if (waits() && (await server.isDeadlocked(session))) await server.cancel(session, '40P01')
    })
    scheduler.after(ownLockMs(item.statement) ?? limits.lockMs, async () => {
      if (waits()) await server.cancel(session, '55P03')
    })
  }

  #ended(item: Item, outcome: Outcome): void {
    const backend = this.#backend
    const { scheduler, network, process, server, service } = this.#options
    backend.isBusy = false
    backend.turn += 1
    if (item.statement === 'commit' || item.statement === 'rollback') backend.inTransaction = false
    if (!backend.inTransaction && !backend.isBound && backend.session !== undefined) {
      server.free(service, backend.session)
      backend.session = undefined
    }
    scheduler.record(process.name, `${nameOf(item.statement)} ${wordsOf(outcome)}`)
    if (network.isLost('answer')) this.#break()
    else this.#answer(item, outcome)
    if (backend.isClosed) scheduler.after(0, () => this.#giveBack())
    else if (backend.arrived.length > 0) scheduler.after(0, () => this.#work())
    else if (backend.inTransaction) this.#limitIdle()
  }

  #answer(item: Item, outcome: Outcome): void {
    const { scheduler, network, process } = this.#options
    const atMs = Math.max(this.#answeredMs, scheduler.nowMs() + network.delayMs('database'))
    this.#answeredMs = atMs
    const settle = () => {
      if ('error' in outcome) item.reject(outcome.error)
      else item.resolve(outcome.answer)
    }
    scheduler.after(atMs - scheduler.nowMs(), settle, process)
  }

  #limitIdle(): void {
    const backend = this.#backend
    const { turn } = backend
    this.#options.scheduler.after(limits.idleInTransactionMs, () => {
      if (backend.turn === turn && backend.inTransaction && !backend.isClosed) this.#break()
    })
  }

  /** The connection ends at the server; the client learns of it. */
  #break(): void {
    const { scheduler, network, process } = this.#options
    if (this.#backend.isClosed) return
    scheduler.record(process.name, 'a connection to the database is lost')
    const lose = () => this.#lose(terminated())
    scheduler.after(network.delayMs('database'), lose, process)
    this.#backend.isLeft = true
    scheduler.after(0, () => this.#end())
  }

  #lose(error: Error): void {
    if (this.isLost) return
    this.isLost = true
    for (const { reject } of this.#waiting) reject(error)
    if (this.listenerCount('error') > 0) this.emit('error', error)
  }

  /** Ends the session, unless a statement still waits for a lock: then after it. */
  async #end(): Promise<void> {
    const backend = this.#backend
    if (backend.isClosed) return
    backend.isClosed = true
    backend.arrived = []
    if (!backend.isBusy) await this.#giveBack()
  }

  async #giveBack(): Promise<void> {
    const { server, service } = this.#options
    const { session } = this.#backend
    this.#backend.session = undefined
    if (session !== undefined) await server.giveBack(service, session)
  }
}

function wordsOf(outcome: Outcome): string {
  if ('answer' in outcome) return String(outcome.answer.rowCount ?? outcome.answer.command)
  const { code, message } = outcome.error as { code?: string; message: string }
  return `failed: ${code ?? ''} ${message}`
}

/** A caller who waits for a connection. */
type Waiter = (client: SimulatedClient) => void

export type SimulatedPool = {
  pool: Pool
  /** Drops all connections, as the crash of the process does. */
  abandon(): void
  /** Cuts the process off from the database. */
  cut(forMs: number): void
}

/** The pool of a process. */
export function createPool(options: PoolOptions): SimulatedPool {
  const { scheduler, network } = options
  const connections = createConnections(options)
  const { all, idle, waiting } = connections
  const pool = {
    connect: connections.connect,
    on: () => undefined,
    end: async () => undefined,
    options: { max: maxConnections },
    get totalCount() {
      return all.size
    },
    get idleCount() {
      return idle.length
    },
    get waitingCount() {
      return waiting.length
    },
  }
  /** When the server notices that a client is gone: at once or, without a word from its machine, later. */
  const noticedAfterMs = (): number =>
    scheduler.random.next() < 0.3
      ? scheduler.random.whole(500, 12_000)
      : network.delayMs('database')
  return {
    pool: pool as unknown as Pool,
    abandon() {
      const losesRequests = scheduler.random.next() < 0.5
      const afterMs = noticedAfterMs()
      for (const client of all) client.abandon(afterMs, losesRequests)
    },
    cut(forMs) {
      connections.cut(forMs)
      const afterMs = noticedAfterMs()
      const isSilent = scheduler.random.next() < 0.5
      for (const client of all) client.cut(afterMs, isSilent)
    },
  }
}

/** Opens connections, and gives them to callers. */
function createConnections(options: PoolOptions) {
  const { scheduler, network, process } = options
  const idle: SimulatedClient[] = []
  const all = new Set<SimulatedClient>()
  const waiting: Waiter[] = []
  let opening = 0
  let cutUntilMs = 0

  function onRelease(client: SimulatedClient, destroy: boolean): void {
    if (destroy || client.isLost) {
      all.delete(client)
      client.leave()
      if (waiting.length > 0) open()
      return
    }
    const next = waiting.shift()
    if (next === undefined) idle.push(client)
    else next(client)
  }

  /** Opens a connection for the caller who waits longest when it is there. */
  function open(): void {
    opening += 1
    const arrive = (): void => {
      opening -= 1
      const client = new SimulatedClient(options, onRelease)
      all.add(client)
      onRelease(client, false)
    }
    const cutMs = Math.max(0, cutUntilMs - scheduler.nowMs())
    scheduler.after(cutMs + 2 * network.delayMs('database'), arrive, process)
  }

  return {
    all,
    idle,
    waiting,
    cut(forMs: number): void {
      cutUntilMs = scheduler.nowMs() + forMs
    },
    async connect(): Promise<SimulatedClient> {
      for (let client = idle.pop(); client !== undefined; client = idle.pop()) {
        if (!client.isLost) return client
        all.delete(client)
      }
      return new Promise((resolve, reject) => {
        const waiter = (client: SimulatedClient): void => {
          cancel()
          resolve(client)
        }
        const late = (): void => {
          waiting.splice(waiting.indexOf(waiter), 1)
          reject(new Error('timeout exceeded when trying to connect'))
        }
        const cancel = scheduler.after(limits.acquireMs, late, process)
        waiting.push(waiter)
        if (all.size + opening < maxConnections) open()
      })
    },
  }
}
