// Calls connectors and ends the tasks of the calls that they accepted. No transaction is open during a call. Direct calls are made
// right after the commit of a change, from memory: the rows of their tasks are inserted already leased to this process. If it does
// not complete a task, the task worker claims it when the lease expires.
import { Failure, type Reason } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import {
  forEachOf,
  type Loop,
  startLoop,
  systemTimers,
  type Timers,
} from '#platform/process/loop.ts'
import { wasNotSent } from '#platform/rpc/client/not-sent.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type BackendCall, isUnsent } from '../domain/backend-call.ts'
import type { Routing } from '../domain/routing.ts'
import type { PaymentMetrics } from '../metrics.ts'
import { announcementOf, type Connectors, isUnimplemented } from '../ports/backend.ts'
import { type FailedAttempt, markDone, postponeTasks } from '../store/task-store.ts'
import { createQueue, maxWaiting } from './call-queue.ts'
import { gatherEnded } from './ended-tasks.ts'
import { mover } from './fallback.ts'
import { maxTransfers, startTransfers } from './transfers.ts'

/** The dependencies of calls. */
export type CallOptions = {
  db: Database
  log: Logger
  connectors: Connectors
  routing: () => Routing
  linkKeys: KeySource
  metrics: Pick<PaymentMetrics, 'fellBack'>
  /** Records that a refund has failed: its connector has no refunds, and moved nothing. */
  failRefund: (refundId: string) => Promise<void>
  /** The time that pauses are measured by; that of the process when unset. */
  timers?: Timers
}

/** The back end takes this many charges or withdrawals in one call. */
export const maxCharges = 200

/** Makes calls of any kinds and ends their tasks; those that fail are due again later. Rejects as a Queryable does. */
export type MakeCalls = (calls: BackendCall[]) => Promise<void>

/** Whether a call that was not sent may go to another connector; `received`: its connector has refused it among others. */
type Fallback = 'may move' | 'stays' | 'received'

/** Makes calls until it is closed. */
export type CallMaker = {
  make: MakeCalls
  /** Ends the tasks of the calls that were made. Close it after everything that makes calls. Never rejects. */
  close(): Promise<void>
}

/** Starts what calls connectors: many charges or withdrawals in one call, each refund and payout in its own. */
export function startCallMaker(options: CallOptions): CallMaker {
  const { db, log } = options
  const moveAway = mover(options)
  const ended = gatherEnded(options)

  /**
   * Makes calls of one kind to one connector. If the connector refuses the content, makes each call alone, so that one bad item
   * does not block the others.
   */
  async function make(calls: BackendCall[], fallback: Fallback): Promise<void> {
    const [first] = calls
    if (first === undefined) return
    try {
      await send(options, calls)
    } catch (error) {
      const { kind, attempts } = first
      log.warn({ err: error, kind, count: calls.length, attempts }, 'back end not notified')
      if (calls.length > 1 && isRefusal(error)) return makeEach(calls, 'received')
      const failed = fallback === 'received' ? 'unclear' : outcomeOf(error, kind)
      const mayMove = failed !== 'unclear' && fallback === 'may move'
      const { moved, left } = mayMove ? await moveAway(calls) : { moved: [], left: calls }
      if (left.length > 0) await postponeTasks(db, ofKind(left), failed)
      // An earlier call without an answer may have been executed by an earlier version of the connector.
      if (kind === 'refund' && failed === 'unimplemented' && isUnsent(first)) {
        await failForever(options, first)
        await markDone(db, ofKind([first]))
      }
      await Promise.all(moved.map((some) => make(some, 'stays')))
      return
    }
    // Withdrawals and refunds are rare, and their rows are kept.
    if (first.kind === 'withdraw' || first.kind === 'refund') await markDone(db, ofKind(calls))
    else ended.add(calls)
  }

  async function makeEach(calls: BackendCall[], fallback: Fallback): Promise<void> {
    await forEachOf(calls, { width: maxTransfers, kind: 'task', log }, (call) =>
      make([call], fallback),
    )
  }

  return {
    async make(calls) {
      const of = (kind: BackendCall['kind']) => calls.filter((call) => call.kind === kind)
      const together = [...byConnector(of('announce')), ...byConnector(of('withdraw'))]
      await Promise.all([
        ...together.map((some) => make(some, 'may move')),
        makeEach([...of('refund'), ...of('payout')], 'may move'),
      ])
    },
    close: ended.close,
  }
}

/** Calls one connector. Rejects as it does. */
async function send({ connectors, linkKeys }: CallOptions, calls: BackendCall[]): Promise<void> {
  const keys = linkKeys()
  const backend = connectors.of(calls[0]?.connector ?? null)
  await Promise.all([
    backend.announce(
      calls.flatMap((call) => (call.kind === 'announce' ? [announcementOf(call, keys)] : [])),
    ),
    backend.withdraw(
      calls.flatMap((call) =>
        call.kind === 'withdraw' ? [{ payerId: call.subjectId, reason: call.reason }] : [],
      ),
    ),
    ...calls.map(async (call) => {
      if (call.kind === 'refund') await backend.refund({ id: call.subjectId, ...call })
      if (call.kind === 'payout') await backend.payOut({ id: call.subjectId, ...call })
    }),
  ])
}

/** Fails a refund that its connector can never make. */
async function failForever(
  { log, connectors, failRefund }: CallOptions,
  { subjectId: refundId, connector }: BackendCall,
): Promise<void> {
  const name = connector ?? connectors.defaultName
  log.error({ refundId, connector: name }, 'connector makes no refunds')
  await failRefund(refundId)
}

function byConnector(calls: BackendCall[]): Iterable<BackendCall[]> {
  return Map.groupBy(calls, ({ connector }) => connector).values()
}

/** The tasks of calls of one kind. */
function ofKind(calls: BackendCall[]): Parameters<typeof markDone>[1] {
  const [first] = calls
  if (first === undefined) throw new Error('no call')
  return { kind: first.kind, subjectIds: calls.map(({ subjectId }) => subjectId) }
}

/** The result of a failed attempt. A payout or refund that its connector has no operation for counts as not received. */
function outcomeOf(error: unknown, kind: BackendCall['kind']): FailedAttempt {
  if (wasNotSent(error)) return 'unsent'
  const isTransfer = kind === 'payout' || kind === 'refund'
  return isTransfer && isUnimplemented(error) ? 'unimplemented' : 'unclear'
}

const transientReasons = new Set<Reason>(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'RATE_LIMIT_EXCEEDED'])

function isRefusal(error: unknown): boolean {
  return error instanceof Failure && !transientReasons.has(error.reason)
}

const pauseMs = 1_000
/**
 * How long charges are gathered for one call, in milliseconds: `each` for every charge of the call before, at most `max`, and until
 * `spacing` after that call began. So under load calls are large, and at rest a charge waits for 5 ms.
 */
const gatherMs = { each: 5, max: 100, spacing: 40 }

/** Takes calls whose tasks were committed. */
type DirectCalls = Pick<Loop, 'close'> & {
  /** Never throws, never waits. */
  call: (calls: BackendCall[]) => void
}

type DirectOptions = Pick<CallOptions, 'db' | 'log' | 'connectors' | 'timers'>

/** Starts direct calls, with a queue for each connector, so that a connector that hangs delays no other. */
export function startDirectCalls(options: DirectOptions, make: MakeCalls): DirectCalls {
  const { names, defaultName } = options.connectors
  const otherwise = startDirectCallsOfOne(options, make)
  const others = names.filter((name) => name !== defaultName)
  const byName = new Map(others.map((name) => [name, startDirectCallsOfOne(options, make)]))
  return {
    call(calls) {
      const groups = Map.groupBy(calls, ({ connector }) => connector ?? defaultName)
      for (const [name, some] of groups) (byName.get(name) ?? otherwise).call(some)
    },
    async close() {
      await Promise.all([otherwise, ...byName.values()].map((one) => one.close()))
    },
  }
}

/** Starts the loop of charges and withdrawals, and the lanes of transfers. Separate, so that slow transfers delay no charge. */
function startDirectCallsOfOne(
  { db, log, timers = systemTimers }: DirectOptions,
  make: MakeCalls,
): DirectCalls {
  const charges = createQueue(timers)
  const transfers = createQueue(timers)
  let lastCount = 1
  let announcedMs = Number.NEGATIVE_INFINITY
  let closing = false

  const loop = startLoop({
    kind: 'charge announcements',
    log,
    pauseMs,
    timers,
    gatherMs() {
      const earliestMs = Math.min(gatherMs.max, gatherMs.each * lastCount)
      return Math.max(earliestMs, announcedMs + gatherMs.spacing - timers.nowMs())
    },
    async round() {
      const some = charges.take(maxCharges)
      lastCount = Math.max(1, some.length)
      if (some.length > 0) {
        announcedMs = timers.nowMs()
        await make(some)
      }
      // What came during the call is gathered, unless it fills one.
      if (charges.size() >= maxCharges) return true
      return charges.size() > 0 ? 0 : false
    },
  })

  const lanes = startTransfers({ log, timers }, transfers, make)

  /** Ends the leases of calls, so that other processes make them at once. */
  async function release(calls: BackendCall[]): Promise<void> {
    for (const some of Map.groupBy(calls, ({ kind }) => kind).values()) {
      await postponeTasks(db, ofKind(some), 'unclear').catch((error: unknown) => {
        // Otherwise other workers claim them when the lease expires.
        log.warn({ err: error, kind: 'calls' }, 'calls left to the task worker')
      })
    }
  }

  return {
    call(calls) {
      if (closing) {
        void release(calls)
        return
      }
      for (const one of calls) {
        const isTransfer = one.kind === 'refund' || one.kind === 'payout'
        if (isTransfer) transfers.push(one)
        else charges.push(one)
      }
      if (charges.size() > 0) loop.notify()
      if (transfers.size() > 0) lanes.notify()
    },
    async close() {
      closing = true
      const ended = [loop.close(), lanes.close()]
      // Released first: the calls in flight to a silent back end may take longer than the shutdown timeout.
      await release([...charges.take(maxWaiting), ...transfers.take(maxWaiting)])
      await Promise.all(ended)
    },
  }
}
