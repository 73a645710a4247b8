// The lanes that this process knows, in memory: deliveries in flight or waiting for a slot, limit and breaker. Changes are stored once a second.
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Claimed } from '../domain/delivery.ts'
import { type BreakerTerms, type LaneAttempt, learn, urlShare } from '../domain/lane.ts'
import type { KnownLane, LookedAtLane } from '../store/claim-store.ts'
import { type LearnedLane, storeLanes } from '../store/lane-store.ts'
import { createHosts, type Hosts } from './hosts.ts'
import {
  add,
  type Entry,
  laneOf,
  namesAnother,
  newEntry,
  nothingWaits,
  recordWaiting,
} from './lane-entry.ts'

/** What the lanes need. */
export interface LanesOptions {
  db: Database
  log: Logger
  breaker: BreakerTerms
  /** Processes that share the limits. */
  instances: () => number
  /** Maximum POSTs of this process in flight to one hostname, over all projects. */
  hostLimit: number
  /** Replaces the clock of the process, in milliseconds. */
  nowMs?: (() => number) | undefined
}

/** A push, as far as slots are concerned. */
export type Push = Pick<Claimed, 'endpointId' | 'hostname' | 'url'>

/** The lanes of one process. */
export interface Lanes {
  /** Reserves a slot for a fresh push. False: it has to wait in the table. */
  reserve(push: Push): boolean
  /** Gives up a reservation. */
  release(push: Push): void
  /** Reserves for a delivery that a claim took. */
  take(claimed: Push): void
  /** Lets a reserved delivery wait for its slot. */
  enqueue(claimed: Claimed): void
  /** Takes from the queues of a host's lanes what may be posted now. */
  next(hostname: string): Claimed[]
  /** Updates limit and breaker by an attempt, and frees its slot. True: half of a lane with a backlog is free, so claim again. */
  end(claimed: Claimed, attempt: Omit<LaneAttempt, 'url'>): boolean
  /** Takes over the stored state of the lanes that a claim has looked at. */
  lookedAt(lanes: readonly LookedAtLane[], claimStartedMs: number): void
  /**
   * Records that these pushes wait in the table. Returns the lanes that have to be made ready there: from the others this process
   * claims without that, because it knows of their backlog.
   */
  overflow(pushes: readonly Push[]): Set<string>
  /** Whether a claim could take pushes of a known backlog. */
  hasBacklog(): boolean
  /** Ids of the lanes in whose table pushes wait, as far as this process knows. */
  backlogged(): string[]
  /** Limits for a claim: of the lanes with pushes in flight or due. */
  known(): KnownLane[]
  /** Takes from the queues what has waited for too long, or whose breaker has opened. */
  stale(): Claimed[]
  /** Takes from the queues the pushes about the same subject to the same URL. */
  like(claimed: Claimed): Claimed[]
  /** Takes all from the queues. */
  drain(): Claimed[]
  /** Deliveries that may be leased now, by hostname; for others as many as a host may have POSTs in flight. */
  roomByHost(): Map<string, number>
  /** Hostnames that have as many POSTs in flight as they may. */
  fullHosts(): number
  /** Leased deliveries that wait for a slot. */
  queued(): number
  /** Stores changed lanes, after earlier calls have ended. False: the database refused, and the next call tries them again. */
  store(): Promise<boolean>
  /** The most urgent change that is not stored. */
  changed(): 'breaker' | 'limit' | undefined
}

/** Maximum queue of a lane in memory, as a time: as many deliveries as the lane posts in it, by its average so far. */
const queueForMs = 250
const maxQueued = 192
/** Deliveries that have waited for longer go back to the table. */
const staleMs = 2_000
/** A lane that was not used for this time is forgotten: other processes may have changed its stored state. */
const rememberMs = 600_000
const maxLanes = 10_000
const averageWeight = 0.1

/** Makes the lanes of a process: at first it knows none, and learns of each from the first claim of its pushes. */
export function createLanes(options: LanesOptions): Lanes {
  const { nowMs = () => performance.now() } = options
  const state: State = {
    ...options,
    nowMs,
    entries: new Map(),
    changed: new Map(),
    hosts: createHosts({ hostLimit: options.hostLimit, maxQueued, stillMs: queueForMs, nowMs }),
    queued: 0,
    hasChangedBreaker: false,
    stored: Promise.resolve(true),
  }
  return {
    reserve: (push) => reserve(state, push),
    release: (push) => count(state, push, -1),
    take(push) {
      count(state, push, 1)
      const entry = entryOf(state, push.endpointId)
      entry.filledTo = entry.leased
    },
    enqueue(claimed) {
      entryOf(state, claimed.endpointId).queue.push({ claimed, sinceMs: nowMs() })
      state.queued += 1
      state.hosts.waiting(claimed.hostname).add(claimed.endpointId)
    },
    next: (hostname) => next(state, hostname),
    end: (claimed, attempt) => end(state, claimed, attempt),
    lookedAt(lanes, claimStartedMs) {
      for (const found of lanes) lookedAt(state, found, claimStartedMs)
    },
    overflow(pushes) {
      for (const { endpointId, url } of pushes) {
        const entry = state.entries.get(endpointId)
        if (entry !== undefined) recordWaiting(entry, url)
      }
      const ids = new Set(pushes.map(({ endpointId }) => endpointId))
      return new Set([...ids].filter((id) => !isClaimedAnyway(state, id)))
    },
    hasBacklog: () => known(state).some(({ hasBacklog, room }) => hasBacklog && room > 0),
    backlogged: () =>
      [...state.entries].flatMap(([id, { backlogMs }]) => (backlogMs === undefined ? [] : [id])),
    known: () => known(state),
    stale() {
      if (state.queued === 0) return []
      const oldestMs = nowMs() - staleMs
      return [...state.entries.values()].flatMap((entry) => {
        const isOpen = entry.lane.breaker === 'open'
        return takeFrom(state, entry, ({ sinceMs }) => isOpen || sinceMs < oldestMs)
      })
    },
    like: ({ projectId, subjectId, url, hostname }) =>
      [...state.hosts.waiting(hostname)].flatMap((endpointId) =>
        takeFrom(
          state,
          entryOf(state, endpointId),
          ({ claimed: one }) =>
            one.url === url && one.subjectId === subjectId && one.projectId === projectId,
        ),
      ),
    drain: () => [...state.entries.values()].flatMap((entry) => takeFrom(state, entry, () => true)),
    roomByHost: state.hosts.rooms,
    fullHosts: state.hosts.full,
    queued: () => state.queued,
    changed: () =>
      state.changed.size === 0 ? undefined : state.hasChangedBreaker ? 'breaker' : 'limit',
    // An older state of a lane must not overwrite a newer one, nor a breaker be opened for longer.
    store: () => (state.stored = state.stored.then(() => store(state))),
  }
}

interface State extends LanesOptions {
  nowMs: () => number
  entries: Map<string, Entry>
  /** Entries that have changed since they were stored, and whether a breaker has. */
  changed: Map<string, Entry>
  hasChangedBreaker: boolean
  hosts: Hosts
  queued: number
  /** The last call of `store`. */
  stored: Promise<boolean>
}

function reserve(state: State, push: Push): boolean {
  const entry = state.entries.get(push.endpointId)
  const nowMs = state.nowMs()
  if (entry === undefined) return false
  if (nowMs - entry.usedMs > rememberMs && isAtRest(state, push.endpointId, entry)) {
    state.entries.delete(push.endpointId)
    return false
  }
  if (entry.lane.breaker !== 'closed' || entry.backlogMs !== undefined) return false
  const room = roomOf(state, entry)
  if (entry.leased >= room) return false
  if (state.hosts.room(push.hostname) <= 0) return false
  if ((entry.leasedTo.get(push.url) ?? 0) >= urlShare(room)) return false
  entry.usedMs = nowMs
  count(state, push, 1)
  return true
}

/** Whether this process claims from a lane, ready or not, since it knows of a backlog; from now on it does. */
function isClaimedAnyway(state: State, endpointId: string): boolean {
  const entry = state.entries.get(endpointId)
  if (entry === undefined) return false
  const wasKnown = entry.backlogMs !== undefined && entry.lane.breaker === 'closed'
  entry.backlogMs = state.nowMs()
  return wasKnown
}

/** POSTs of this process that may be in flight at once. */
function slotsOf({ instances }: State, { lane }: Entry): number {
  return lane.breaker === 'closed' ? Math.max(1, Math.floor(lane.limit / instances())) : 1
}

/** Deliveries that this process may have leased: a lane that is fast has some wait in memory. */
function roomOf(state: State, entry: Entry): number {
  const slots = slotsOf(state, entry)
  if (entry.lane.breaker !== 'closed' || entry.tookMs === undefined) return slots
  // None of its POSTs has ended lately, so deliveries in the queue would wait for long.
  if (entry.posting > 0 && state.nowMs() - entry.movedMs > queueForMs) return slots
  const queueRoom = Math.floor((slots * queueForMs) / Math.max(1, entry.tookMs))
  return slots + Math.min(maxQueued, queueRoom)
}

function count(state: State, push: Push, change: 1 | -1): void {
  const entry = entryOf(state, push.endpointId)
  entry.leased += change
  add(entry.leasedTo, push.url, change)
  state.hosts.lease(push.hostname, change)
}

function entryOf(state: State, endpointId: string): Entry {
  const known = state.entries.get(endpointId)
  if (known !== undefined) return known
  if (state.entries.size >= maxLanes) forgetOld(state)
  const entry = newEntry(state.nowMs())
  state.entries.set(endpointId, entry)
  return entry
}

function forgetOld(state: State): void {
  for (const [id, entry] of state.entries) {
    if (isAtRest(state, id, entry)) state.entries.delete(id)
  }
}

function isAtRest({ changed }: State, endpointId: string, { leased, backlogMs }: Entry): boolean {
  return leased === 0 && backlogMs === undefined && !changed.has(endpointId)
}

/** Takes from the lanes of a host in turn (round-robin), until the host is full. */
function next(state: State, hostname: string): Claimed[] {
  const waiting = state.hosts.waiting(hostname)
  const starting: Claimed[] = []
  for (const endpointId of Array.from(waiting)) {
    if (state.hosts.isFull(hostname)) break
    const entry = entryOf(state, endpointId)
    const started = nextOf(state, entry, hostname)
    if (started.length > 0 || entry.queue.length === 0) waiting.delete(endpointId)
    if (entry.queue.length > 0) waiting.add(endpointId)
    starting.push(...started)
  }
  return starting
}

function nextOf(state: State, entry: Entry, hostname: string): Claimed[] {
  if (entry.queue.length === 0 || entry.lane.breaker === 'open') return []
  const slots = slotsOf(state, entry)
  const share = urlShare(slots)
  const starting: Claimed[] = []
  entry.queue = entry.queue.filter(({ claimed }) => {
    if (entry.posting >= slots || (entry.postingTo.get(claimed.url) ?? 0) >= share) return true
    if (state.hosts.isFull(hostname)) return true
    if (entry.posting === 0) entry.movedMs = state.nowMs()
    entry.posting += 1
    add(entry.postingTo, claimed.url, 1)
    state.hosts.begin(hostname)
    starting.push(claimed)
    return false
  })
  state.queued -= starting.length
  return starting
}

function end(state: State, claimed: Claimed, attempt: Omit<LaneAttempt, 'url'>): boolean {
  const { endpointId, url, hostname } = claimed
  const entry = entryOf(state, endpointId)
  entry.posting -= 1
  add(entry.postingTo, url, -1)
  state.hosts.end(hostname, attempt.endedMs)
  count(state, claimed, -1)
  const before = entry.lane
  entry.lane = learn(before, { ...attempt, url }, state.breaker)
  if (entry.lane.breaker !== before.breaker) {
    entry.breakerChanged = true
    entry.breakerMs = attempt.endedMs
    state.hasChangedBreaker = true
  }
  entry.usedMs = attempt.endedMs
  entry.movedMs = attempt.endedMs
  if (attempt.status !== undefined || attempt.outcome === 'timed_out') {
    const tookMs = attempt.endedMs - attempt.startedMs
    entry.tookMs ??= tookMs
    entry.tookMs += (tookMs - entry.tookMs) * averageWeight
  }
  if (entry.lane !== before) state.changed.set(endpointId, entry)
  if (entry.backlogMs === undefined) return false
  // True at one value only, so that one claim follows and not one for each attempt.
  return entry.leased === 0 || entry.leased === Math.floor(entry.filledTo / 2)
}

function lookedAt(state: State, found: LookedAtLane, claimStartedMs: number): void {
  const entry = entryOf(state, found.endpointId)
  const isNew = entry.usedMs === Number.NEGATIVE_INFINITY
  const hasChanged = entry.lane.breaker !== found.breaker && entry.breakerMs < claimStartedMs
  if (isNew || (hasChanged && !entry.breakerChanged)) entry.lane = laneOf(found, state.nowMs())
  entry.usedMs = state.nowMs()
  entry.onlyUrl = found.onlyUrl
  entry.isMixed ||= namesAnother(entry, entry.waitingUrl)
  if (found.hasMore) entry.backlogMs = state.nowMs()
  else if ((entry.backlogMs ?? 0) <= claimStartedMs) Object.assign(entry, nothingWaits)
}

function known(state: State): KnownLane[] {
  return Array.from(state.entries).flatMap(([endpointId, entry]) => {
    if (entry.lane.breaker !== 'closed') return []
    if (entry.leased === 0 && entry.backlogMs === undefined) return []
    const room = roomOf(state, entry)
    const slots = entry.lane.limit + room - slotsOf(state, entry)
    return [
      {
        endpointId,
        slots,
        room: Math.max(0, room - entry.leased),
        hasBacklog: entry.backlogMs !== undefined,
        isMixed: entry.isMixed,
      },
    ]
  })
}

function takeFrom(
  state: State,
  entry: Entry,
  shouldLeave: (waiting: Entry['queue'][number]) => boolean,
): Claimed[] {
  const leaving = entry.queue.filter(shouldLeave)
  if (leaving.length === 0) return []
  entry.queue = entry.queue.filter((one) => !leaving.includes(one))
  state.queued -= leaving.length
  for (const { claimed } of leaving) count(state, claimed, -1)
  return leaving.map(({ claimed }) => claimed)
}

async function store(state: State): Promise<boolean> {
  if (state.changed.size === 0) return true
  const storing = [...state.changed]
  state.changed.clear()
  state.hasChangedBreaker = false
  const learned: LearnedLane[] = storing.map(([endpointId, { lane, breakerChanged }]) => ({
    endpointId,
    lane,
    breakerChanged,
  }))
  try {
    await storeLanes(state.db, learned, state.nowMs())
    for (const [index, [, entry]] of storing.entries()) {
      const isStored = entry.breakerChanged && entry.lane.breaker === learned[index]?.lane.breaker
      // A claim that began before now may have read the breaker as it was before.
      if (isStored) Object.assign(entry, { breakerChanged: false, breakerMs: state.nowMs() })
    }
    return true
  } catch (error) {
    for (const [id, entry] of storing) state.changed.set(id, entry)
    state.hasChangedBreaker ||= learned.some(({ breakerChanged }) => breakerChanged)
    state.log.warn({ count: learned.length, err: error }, 'state of lanes not stored')
    return false
  }
}
