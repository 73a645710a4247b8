// Changes payments. The changes of one event-loop turn are decided and written in one transaction; one that is refused does
// not affect the others.
import type { Failure } from '#core/errors/errors.ts'
import { batched, leftOut } from '#platform/db/batcher.ts'
import { type Database, isRefused, type Queryable } from '#platform/db/db.ts'
import type { CommittedEvent } from '#platform/events/outbox.ts'
import { type CallContext, currentContext } from '#platform/rpc/context.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { committedEvent, transitionEvent } from '../api/events.ts'
import { type BackendCall, callsOf } from '../domain/backend-call.ts'
import type { AttemptKey, Decide, Decision, Found } from '../domain/decision.ts'
import type { Payment } from '../domain/payment.ts'
import { type Routing, routePayouts } from '../domain/routing.ts'
import type { StoredEvent } from '../domain/stored-event.ts'
import type { PaymentMetrics } from '../metrics.ts'
import { attemptName, type Locked, lockPayments, type PaymentRef } from '../store/lock-store.ts'
import { StaleRow, writeDecisions } from '../store/transition-store.ts'

/** The dependencies of changes. */
export type ChangeContext = {
  db: Database
  changeInBatch: ChangeInBatch
  log: Logger
  metrics: PaymentMetrics
  /** The routes as they are now. */
  routing: () => Routing
  /** Publishes a committed event. */
  publish: (event: CommittedEvent) => void
  /** Makes calls to the back end whose tasks were committed. */
  callBackend: (calls: BackendCall[]) => void
}

/** A change of one payment. */
export type Change = {
  target: PaymentRef
  /** The attempt of which earlier reports are read for the decision. */
  attempt?: AttemptKey
  decide: Decide
  /** The error when the target is no payment. */
  absent: () => Failure
}

/** A change, the routes for its payouts, and the context of the RPC that caused it, whose trace and request id go into its event. */
type Request = Change & Pick<ChangeContext, 'routing'> & { origin: CallContext | undefined }

/** A payment after its change. */
export type Changed = { payment: Payment; decision: Decision }

type Written = Changed & { event: StoredEvent | undefined }

/** The result of one request of a batch. The batch leaves out a request whose payment is locked by another transaction. */
type Outcome = { written: Written } | { error: unknown }

/** Changes a payment, batched with the changes of the same event-loop turn. */
export type ChangeInBatch = (request: Request) => Promise<Outcome>

/** Makes the batcher of changes. */
export function batchingChanger(db: Database): ChangeInBatch {
  return batched<Request, Outcome>({
    maxInFlight: 2,
    maxBatchSize: 64,
    alone: async (request) => {
      const [outcome = leftOut] = await runBatch(db, [request], 'waiting')
      if (outcome === leftOut) throw new Error('a lock was not waited for')
      return outcome
    },
    together: (requests) => runBatch(db, requests, 'free'),
    isOfOne: (error) =>
      isRefused(error) || error instanceof RangeError || error instanceof StaleRow,
    aloneWaits: true,
  })
}

/**
 * Changes a payment with others of the same turn, or alone when another transaction has its lock or the batch is refused.
 * Rejects with what `decide` throws, with `absent`, and as a Queryable does.
 */
export async function change(context: ChangeContext, wanted: Change): Promise<Changed> {
  const outcome = await context.changeInBatch({
    ...wanted,
    routing: context.routing,
    origin: currentContext(),
  })
  if ('error' in outcome) throw outcome.error
  afterCommit(context, outcome.written)
  return outcome.written
}

/**
 * Changes a payment alone, in the transaction that `within` runs, so that the other writes of `within` are stored with the
 * change or not at all. Rejects as `change` does.
 */
export async function changeWithin(
  context: ChangeContext,
  within: (work: (tx: Queryable) => Promise<Written>) => Promise<Written>,
  wanted: Change,
): Promise<Changed> {
  const request = { ...wanted, routing: context.routing, origin: currentContext() }
  const written = await within(async (tx) => {
    const [outcome = leftOut] = await changeAll(tx, [request], 'waiting')
    if (outcome === leftOut) throw new Error('a lock was not waited for')
    if ('error' in outcome) throw outcome.error
    return outcome.written
  })
  afterCommit(context, written)
  return written
}

/** One transaction: locks and reads, decides one after the other, writes. */
function runBatch(
  db: Database,
  requests: Request[],
  lock: 'free' | 'waiting',
): Promise<(Outcome | typeof leftOut)[]> {
  return db.transaction((tx) => changeAll(tx, requests, lock))
}

async function changeAll(
  tx: Queryable,
  requests: Request[],
  lock: 'free' | 'waiting',
): Promise<(Outcome | typeof leftOut)[]> {
  const attempts = requests.flatMap(({ attempt }) => attempt ?? [])
  const targets = requests.map(({ target }) => target)
  const state = batchState(await lockPayments(tx, { targets, attempts }, lock))
  const outcomes = requests.map((request) => decideOn(state, request))
  const written = outcomes.flatMap((outcome) =>
    outcome !== leftOut && 'written' in outcome ? [outcome.written] : [],
  )
  await writeDecisions(
    tx,
    written.map(({ decision }) => decision),
    written.flatMap(({ payment, event, decision: { transition } }) =>
      event === undefined || transition === undefined
        ? []
        : [{ ...event, projectId: payment.projectId, occurredAt: transition.now }],
    ),
  )
  return outcomes
}

type BatchState = {
  find(target: PaymentRef): { payment: Payment; now: Date; isLocked: boolean } | undefined
  factsFor(request: Request): Pick<Found, 'reported' | 'refund'>
  /** Applies a decision in memory, so that later requests of the batch are decided on its result. */
  apply(decision: Decision): void
}

/** Indexes what was read by the ids that requests name. */
function batchState({ payments, reports, refunds }: Locked): BatchState {
  const byName = new Map<string, (typeof payments)[number]>()
  for (const one of payments) {
    const { paymentId, projectId, payers, payees, updateTime } = one.payment
    one.now = laterThan(updateTime, one.now)
    byName.set(nameOf({ projectId, paymentId }), one)
    for (const { payerId } of payers) byName.set(payerId, one)
    for (const { payeeId } of payees) byName.set(payeeId, one)
    for (const refund of refunds) {
      if (refund.paymentId === paymentId) byName.set(refund.refundId, one)
    }
  }
  const reported = Map.groupBy(reports, attemptName)
  const refundOf = new Map(refunds.map((refund) => [refund.refundId, refund]))
  return {
    find: (target) => byName.get(nameOf(target)),
    factsFor: ({ target, attempt }) => ({
      reported:
        (attempt && reported.get(attemptName(attempt)))?.map(({ outcome }) => outcome) ?? [],
      refund: 'refundId' in target ? refundOf.get(nameOf(target)) : undefined,
    }),
    apply({ transition, report, refunded }) {
      if (transition !== undefined) {
        const one = byName.get(nameOf(transition.payment))
        if (one !== undefined) {
          one.payment = transition.payment
          one.now = laterThan(transition.now, one.now)
        }
      }
      if (report !== undefined) {
        const earlier = reported.get(attemptName(report)) ?? []
        reported.set(attemptName(report), [...earlier, report])
      }
      const refund = refunded && refundOf.get(refunded.refundId)
      if (refund !== undefined && refunded !== undefined) refund.state = refunded.outcome
    },
  }
}

/**
 * The time of a change: at least 1 ms after that of the change before it, so that no two pushes about one party of a payment have the
 * same fields by which receivers deduplicate.
 */
function laterThan(before: Date, now: Date): Date {
  return new Date(Math.max(now.getTime(), before.getTime() + 1))
}

function nameOf(target: PaymentRef): string {
  if ('paymentId' in target) return `${target.projectId} ${target.paymentId}`.toLowerCase()
  if ('payerId' in target) return target.payerId.toLowerCase()
  return ('payeeId' in target ? target.payeeId : target.refundId).toLowerCase()
}

/** Decides on one request. A refusal is returned, not thrown, so that the others of the batch are written. */
function decideOn(state: BatchState, request: Request): Outcome | typeof leftOut {
  try {
    const one = state.find(request.target)
    if (one === undefined) throw request.absent()
    if (!one.isLocked) return leftOut
    const decision = request.decide({ ...one, ...state.factsFor(request) })
    const { transition } = decision
    if (transition !== undefined) routePayouts(transition, request.routing)
    const event = transition && transitionEvent(transition, request.origin)
    state.apply(decision)
    return { written: { payment: transition?.payment ?? one.payment, decision, event } }
  } catch (error) {
    return { error }
  }
}

function afterCommit(context: ChangeContext, { decision, event }: Written): void {
  const { transition } = decision
  if (transition === undefined) return
  const { payment, fact, fromState, now } = transition
  if (fact !== undefined) {
    context.metrics.moved(fact.kind)
    const { paymentId, projectId, state } = payment
    context.log.debug(
      { paymentId, projectId, kind: fact.kind, fromState, toState: state },
      'payment changed',
    )
  }
  if (event !== undefined) context.publish(committedEvent(event, payment.projectId, now))
  context.callBackend(callsOf(transition))
}
