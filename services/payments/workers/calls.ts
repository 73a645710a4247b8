// Makes calls to connectors and records which were made; no transaction is open during a call.
import { Failure, type Reason } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import { batched } from '#platform/db/batcher.ts'
import type { Database } from '#platform/db/db.ts'
import { forEachOf } from '#platform/process/loop.ts'
import { wasNotSent } from '#platform/rpc/client/not-sent.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { BackendCall } from '../domain/backend-call.ts'
import type { Routing } from '../domain/routing.ts'
import { announcementOf } from '../operations/announce-charges.ts'
import type { Connectors } from '../ports/connectors.ts'
import { markDone, markLater } from '../store/task-store.ts'
import { mover } from './fallback.ts'

/** What calls are made with. */
export type CallOptions = {
  db: Database
  log: Logger
  connectors: Connectors
  routing: () => Routing
  linkKeys: KeySource
}

/** The back end takes this many charges or withdrawals in one call. */
export const maxCharges = 200

/** Transfers in flight: each is a call of its own. */
export const maxTransfers = 32

/** Makes calls of any kinds and ends their tasks; those that fail are due again later. Rejects as a Queryable does. */
export type MakeCalls = (calls: BackendCall[]) => Promise<void>

/** Charges and withdrawals are many in one call, each refund and payout is one of its own. */
export function callMaker(options: CallOptions): MakeCalls {
  const { db, log, connectors, linkKeys } = options
  const moveAway = mover(options)
  const end = batched<BackendCall, void>({
    maxInFlight: 1,
    maxBatchSize: maxCharges,
    alone: (call) => markDone(db, ofKind([call])),
    together: async (calls) => {
      const byKind = Map.groupBy(calls, ({ kind }) => kind)
      await Promise.all([...byKind.values()].map((some) => markDone(db, ofKind(some))))
      return calls.map(() => undefined)
    },
    isOfOne: () => false,
  })

  /** Calls of one connector. */
  async function send(calls: BackendCall[]): Promise<void> {
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

  /** Calls of one kind and connector; when it refuses what is in a call, one each: none holds up the others. */
  async function make(calls: BackendCall[], fallback: 'may move' | 'stays'): Promise<void> {
    const [first] = calls
    if (first === undefined) return
    try {
      await send(calls)
    } catch (error) {
      const { kind, attempts } = first
      log.warn({ err: error, kind, count: calls.length, attempts }, 'back end not notified')
      if (calls.length > 1 && isRefusal(error)) return makeEach(calls)
      const isNotSent = wasNotSent(error)
      const { moved, left } =
        isNotSent && fallback === 'may move' ? await moveAway(calls) : { moved: [], left: calls }
      if (left.length > 0) await markLater(db, ofKind(left), isNotSent ? 'unsent' : 'unclear')
      await Promise.all(moved.map((some) => make(some, 'stays')))
      return
    }
    await Promise.all(calls.map(end))
  }

  async function makeEach(calls: BackendCall[]): Promise<void> {
    await forEachOf(calls, { width: maxTransfers, kind: 'task', log }, (call) =>
      make([call], 'may move'),
    )
  }

  return async (calls) => {
    const of = (kind: BackendCall['kind']) => calls.filter((call) => call.kind === kind)
    const together = [...byConnector(of('announce')), ...byConnector(of('withdraw'))]
    await Promise.all([
      ...together.map((some) => make(some, 'may move')),
      makeEach([...of('refund'), ...of('payout')]),
    ])
  }
}

function byConnector(calls: BackendCall[]): Iterable<BackendCall[]> {
  return Map.groupBy(calls, ({ connector }) => connector).values()
}

/** The tasks of calls of one kind. */
export function ofKind(calls: BackendCall[]): Parameters<typeof markDone>[1] {
  const [first] = calls
  if (first === undefined) throw new Error('no call')
  return { kind: first.kind, subjectIds: calls.map(({ subjectId }) => subjectId) }
}

const notNow = new Set<Reason>(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'RATE_LIMIT_EXCEEDED'])

function isRefusal(error: unknown): boolean {
  return error instanceof Failure && !notNow.has(error.reason)
}
