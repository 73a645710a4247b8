// Runs the dispatcher over two sources of leased deliveries: fresh ones that intake stores, and due ones that its loop claims.
import { startLoop } from '#platform/process/loop.ts'
import type { Claimed } from '../domain/delivery.ts'
import { type Claim, claimDue, nextDueMs } from '../store/claim-store.ts'
import type { NewDelivery } from '../store/intake-store.ts'
import type { Lease } from '../store/lease-store.ts'
import { openUrlQueues } from '../store/url-queue-store.ts'
import { type Dispatcher, type DispatcherOptions, startDispatcher } from './dispatcher.ts'

/** Dependencies of the worker. */
export interface WorkerOptions extends Omit<DispatcherOptions, 'hostLimit' | 'nowMs' | 'onDue'> {
  /** Maximum deliveries leased to this process. */
  maxInFlight?: number
  /** Maximum POSTs in flight to one hostname, over all projects. */
  hostLimit?: number
  /** Maximum wait of fresh pushes for room while no slot becomes free. */
  stalledMs?: number
  /** Replaces the clock of the lanes, in milliseconds. */
  nowMs?: () => number
}

/** Fresh pushes for which slots are reserved, and the lease under which they are to be stored. */
export interface Reservation {
  /** Ids of the deliveries that this worker posts; the others wait in the table. */
  direct: ReadonlySet<string>
  /** Ids of the lanes that have to be made ready, since this worker does not claim from them anyway. */
  makesReady: ReadonlySet<string>
  leaseToken: string
  leaseS: number
  /** Posts what was stored under the lease, and gives up the other slots. By id, the start of the first attempt. */
  begin(startedAt: ReadonlyMap<string, Date>): void
  /** The statement failed: gives up the slots, and releases the leases in case it was executed all the same. */
  abandon(): void
}

/** A worker that runs. */
export interface DeliveryWorker {
  /** Reserves slots for fresh pushes, as far as their lanes have any. While slots become free, waits until there are enough. */
  reserve(pushes: readonly NewDelivery[]): Promise<Reservation>
  /** Notifies the worker that something may be due. */
  notify(): void
  /** Deliveries in flight: leased and not yet recorded. */
  inFlight(): number
  /** Whether this worker has a delivery under the lease, or may get it from a statement that has not returned. */
  holds(lease: Lease): boolean
  /** Stops claiming, drains the POSTs in flight, releases the rest. Resolves when all of it is recorded. */
  close(): Promise<void>
  /** Drops everything where it is, as a crash would: nothing more is recorded. For tests. */
  abandon(): void
}

const defaultMaxInFlight = 512
const defaultHostLimit = 32
const endpointsPerClaim = 64
/** Maximum pause between claims. It finds what other processes left; own work is notified or has a due time. */
const maxIdleMs = 1_000
const claimPauseMs = 50
const failedClaimPauseMs = 1_000
/** Minimum between the starts of two claims: a burst shares a claim, and a single delivery is claimed at once. */
const claimSpacingMs = 5
const defaultStalledMs = 250

/** Starts the loop. */
export function startWorker(options: WorkerOptions): DeliveryWorker {
  const { maxInFlight = defaultMaxInFlight, hostLimit = defaultHostLimit, nowMs } = options
  const leaseS = Math.max(60, (2 * options.timeoutMs) / 1_000 + 10)
  const reserved = { count: 0 }
  const leasing = new Set<string>()
  const dispatcher = startDispatcher({
    ...options,
    hostLimit,
    nowMs: nowMs ?? (() => performance.now()),
    onDue: () => loop.notify(),
  })
  const working: Working = {
    options,
    dispatcher,
    leaseS,
    hostLimit,
    maxInFlight,
    reserved,
    leasing,
    free: () => maxInFlight - reserved.count - dispatcher.inFlight(),
    notify: () => loop.notify(),
    isIdle: true,
  }
  options.metrics.observeInFlight({
    inFlight: () => reserved.count + dispatcher.inFlight(),
    maxInFlight,
    hostLimit,
    fullHosts: dispatcher.lanes.fullHosts,
  })
  const loop = startLoop({
    kind: 'deliveries',
    log: options.log,
    pauseMs: maxIdleMs,
    gatherMs: ({ agoMs }) => claimSpacingMs - agoMs,
    round: () => round(working),
  })
  return {
    reserve: (pushes) => reserve(working, pushes),
    notify: loop.notify,
    inFlight: () => reserved.count + dispatcher.inFlight(),
    holds: (lease) => leasing.has(lease.leaseToken) || dispatcher.holds(lease),
    async close() {
      dispatcher.stop()
      await loop.close()
      await dispatcher.close()
    },
    abandon() {
      void loop.close()
      dispatcher.abandon()
    },
  }
}

interface Working {
  options: WorkerOptions
  dispatcher: Dispatcher
  leaseS: number
  hostLimit: number
  maxInFlight: number
  /** Slots reserved for pushes that are being stored. */
  reserved: { count: number }
  /** Tokens of statements that lease and have not returned. */
  leasing: Set<string>
  /** Deliveries that may still be leased. */
  free: () => number
  notify: () => void
  /** The last claim found nothing: the next one waits until a lane is due. */
  isIdle: boolean
}

async function round(working: Working): Promise<boolean | number> {
  const { options } = working
  try {
    if (working.isIdle && !working.dispatcher.lanes.hasBacklog()) {
      const dueMs = (await nextDueMs(options.db)) ?? maxIdleMs
      if (dueMs > 0) return Math.min(maxIdleMs, dueMs)
    }
    const { deliveries, lanes } = await claim(working)
    const blocked = lanes.filter(({ isBlocked }) => isBlocked)
    if (blocked.length > 0 && (await openQueuesBehind(options, blocked))) return true
    // The claim may have stopped at its limit of lanes.
    if (lanes.length >= endpointsPerClaim) return true
    working.isIdle = deliveries.length === 0
    return claimPauseMs
  } catch (error) {
    options.log.warn({ err: error }, 'deliveries not claimed')
    return failedClaimPauseMs
  }
}

async function claim(working: Working): Promise<Claim> {
  const { options, dispatcher, leasing, leaseS, hostLimit, free } = working
  const { db, leases } = options
  const { lanes } = dispatcher
  await leases.settled()
  const deliveries = free()
  if (deliveries <= 0) return { deliveries: [], lanes: [] }
  const startedMs = dispatcher.nowMs()
  const token = leases.issueToken()
  leasing.add(token)
  try {
    const claimed = await claimDue(db, token, {
      endpoints: endpointsPerClaim,
      deliveries,
      leaseS,
      hostRoom: hostLimit,
      roomByHost: lanes.roomByHost(),
      known: lanes.known(),
    })
    lanes.lookedAt(claimed.lanes, startedMs)
    dispatcher.accept(claimed.deliveries)
    return claimed
  } catch (error) {
    leases.releaseUnheld()
    throw error
  } finally {
    leasing.delete(token)
  }
}

async function reserve(working: Working, pushes: readonly NewDelivery[]): Promise<Reservation> {
  const { options, dispatcher, leasing, leaseS, reserved } = working
  const { lanes } = dispatcher
  // Waits for room, because a push that goes to the table costs a claim, as do the pushes behind it in its lane. The broker has
  // the events meanwhile.
  const wanted = Math.min(pushes.length, working.maxInFlight / 2)
  await dispatcher.untilFree(() => working.free() >= wanted, options.stalledMs ?? defaultStalledMs)
  await options.leases.settled()
  const leaseToken = options.leases.issueToken()
  leasing.add(leaseToken)
  const direct = new Map<string, NewDelivery>()
  const waiting: NewDelivery[] = []
  const isWaiting = new Set<string>()
  for (const push of pushes) {
    // A push does not overtake an earlier one of its lane.
    const mayGo = !dispatcher.isStopping() && working.free() > 0 && !isWaiting.has(push.endpointId)
    if (mayGo && lanes.reserve(push)) {
      direct.set(push.deliveryId, push)
      reserved.count += 1
    } else {
      waiting.push(push)
      isWaiting.add(push.endpointId)
    }
  }
  const makesReady = lanes.overflow(waiting)
  const release = (): NewDelivery[] => {
    reserved.count -= direct.size
    for (const push of direct.values()) lanes.release(push)
    // A claim that ran while they were being stored has not seen those that wait.
    lanes.overflow(waiting)
    if (waiting.length > 0) working.notify()
    return [...direct.values()]
  }
  return {
    direct: new Set(direct.keys()),
    makesReady,
    leaseToken,
    leaseS,
    begin(startedAt) {
      const stored = release().flatMap((push) => {
        const at = startedAt.get(push.deliveryId)
        return at === undefined ? [] : [firstAttempt(push, at, leaseToken)]
      })
      dispatcher.accept(stored)
      leasing.delete(leaseToken)
    },
    abandon() {
      if (release().length > 0) options.leases.releaseUnheld()
      leasing.delete(leaseToken)
    },
  }
}

/** The first attempt of a delivery that intake stored under a lease. */
function firstAttempt(push: NewDelivery, startedAt: Date, leaseToken: string): Claimed {
  const { deliveryId, endpointId, projectId, eventId, subjectId, kind, url, body } = push
  return {
    deliveryId,
    endpointId,
    projectId,
    eventId,
    subjectId,
    kind,
    url,
    body,
    failures: 0,
    number: 1,
    earlierAttempts: 0,
    startedAt,
    occurredAt: push.occurredAt,
    leaseToken,
    round: 1,
    hostname: push.hostname,
    traceparent: push.traceparent ?? null,
  }
}

/**
 * Moves the pushes of a URL that blocks the head of its lane to a queue of that URL, so that the pushes behind them can be claimed.
 * True when there may be more to claim. After a failure the next claim, a second later, tries again.
 */
async function openQueuesBehind(
  { db, log }: WorkerOptions,
  lanes: readonly { endpointId: string }[],
): Promise<boolean> {
  const laneIds = lanes.map(({ endpointId }) => endpointId)
  return openUrlQueues(db, laneIds).then(
    (opened) => opened > 0,
    (error: unknown) => {
      log.warn({ err: error }, 'URL queues not opened')
      return false
    },
  )
}
