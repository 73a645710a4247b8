// What a process knows of one lane: its pushes in flight, its limit and breaker, and what waits in the table.
import type { Claimed } from '../domain/delivery.ts'
import { type Lane, newLane } from '../domain/lane.ts'
import { urlKey } from '../domain/url-key.ts'
import type { LookedAtLane } from '../store/claim-store.ts'

/** A lane of this process. */
export interface Entry {
  lane: Lane
  /** Leased deliveries and reservations, in all and by URL. */
  leased: number
  /** `leased` right after the last claim. */
  filledTo: number
  leasedTo: Map<string, number>
  /** POSTs in flight, in all and by URL. */
  posting: number
  postingTo: Map<string, number>
  /** Leased deliveries that wait for a slot, with the time since when. */
  queue: { claimed: Claimed; sinceMs: number }[]
  /** When pushes were last seen to wait in the table; undefined while none do. */
  backlogMs: number | undefined
  /** The URL of a push that this process has let wait there since; whether there were several, or its row names another. */
  waitingUrl: string | undefined
  isMixed: boolean
  /** The key of the only URL of what waits, as its row had it last. */
  onlyUrl: Buffer | null
  /** When a POST last ended, or the first one in flight began. */
  movedMs: number
  /** Moving average of how long an attempt takes; undefined before the first answer. */
  tookMs: number | undefined
  /** The breaker has changed since the lane was stored; when it last changed or was stored. */
  breakerChanged: boolean
  breakerMs: number
  usedMs: number
}

/** No push waits in the table. */
export const nothingWaits = {
  backlogMs: undefined,
  waitingUrl: undefined,
  isMixed: false,
  onlyUrl: null,
} as const

/** A lane of which nothing is known. */
export function newEntry(nowMs: number): Entry {
  return {
    lane: newLane(nowMs),
    leased: 0,
    filledTo: 0,
    leasedTo: new Map(),
    posting: 0,
    postingTo: new Map(),
    queue: [],
    ...nothingWaits,
    movedMs: Number.NEGATIVE_INFINITY,
    tookMs: undefined,
    breakerChanged: false,
    breakerMs: Number.NEGATIVE_INFINITY,
    usedMs: Number.NEGATIVE_INFINITY,
  }
}

/** A lane as it is stored, with a window of its own. */
export function laneOf(found: LookedAtLane, nowMs: number): Lane {
  const { answeredMsAgo, limit, growth, breaker, breakerOpened, connectFailures } = found
  const latest = answeredMsAgo === null ? undefined : { url: '', atMs: nowMs - answeredMsAgo }
  const stored = { limit, growth, breaker, breakerOpened, connectFailures, latest }
  return { ...newLane(nowMs), ...stored }
}

/** Changes a count; one of zero is left out. */
export function add(counts: Map<string, number>, key: string, change: number): void {
  const now = (counts.get(key) ?? 0) + change
  if (now === 0) counts.delete(key)
  else counts.set(key, now)
}

/** Records what a claim has to know: a lane whose row names one URL has pushes to another. */
export function recordWaiting(entry: Entry, url: string): void {
  entry.waitingUrl ??= url
  entry.isMixed ||= entry.waitingUrl !== url || namesAnother(entry, url)
}

/** Whether its row names the only URL of what waits, and that is another one than this. */
export function namesAnother({ onlyUrl }: Entry, url: string | undefined): boolean {
  return onlyUrl !== null && url !== undefined && !urlKey(url).equals(onlyUrl)
}
