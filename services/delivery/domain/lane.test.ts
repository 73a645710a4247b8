// Tests what attempts teach a lane, one after the other.
import { describe, expect, it } from 'vitest'
import { type Lane, type LaneAttempt, learn, newLane, urlShare } from './lane.ts'

const terms = { openS: 30, maxS: 100 }
const peerAddress = '192.0.2.1'

/** An attempt that began and ended at these times. */
const attempt = (
  change: Partial<LaneAttempt>,
  startedMs = 0,
  endedMs = startedMs,
): LaneAttempt => ({
  url: '/a',
  outcome: 'delivered',
  status: 200,
  peerAddress,
  startedMs,
  endedMs,
  ...change,
})
const timedOut = { outcome: 'timed_out', status: undefined } as const
const unconnected = {
  outcome: 'connection_failed',
  status: undefined,
  peerAddress: undefined,
} as const
const refused = (status: number) => ({ outcome: 'refused', status }) as const

const after = (lane: Lane, ...attempts: LaneAttempt[]): Lane =>
  attempts.reduce((before, one) => learn(before, one, terms), lane)

describe('the limit of a lane', () => {
  it('the limit grows by one for twenty successes and ends at sixteen', () => {
    const successes = (count: number) => Array.from({ length: count }, (_, n) => attempt({}, n))
    expect(after(newLane(0), ...successes(19)).limit).toBe(2)
    expect(after(newLane(0), ...successes(20)).limit).toBe(3)
    expect(after(newLane(0), ...successes(2_000)).limit).toBe(16)
  })

  it('the limit is halved once for attempts that were in flight together', () => {
    const lane = { ...newLane(0), limit: 16 }
    const together = Array.from({ length: 4 }, () => attempt(refused(429), 10, 20))
    expect(after(lane, ...together).limit).toBe(8)
    expect(after(lane, ...together, attempt(refused(429), 20, 30)).limit).toBe(4)
  })

  it('an attempt that was not sent or has no known end teaches nothing', () => {
    const lane = { ...newLane(0), limit: 8, connectFailures: 3 }
    for (const outcome of ['unsigned', 'unknown'] as const) {
      expect(learn(lane, attempt({ outcome, status: undefined }), terms)).toBe(lane)
    }
  })

  it('one URL has half of the slots, and at least one', () => {
    expect([1, 2, 3, 16].map(urlShare)).toEqual([1, 1, 1, 8])
  })
})

describe('a time-out', () => {
  const lane = { ...newLane(0), limit: 8 }

  it('a time-out counts unless another URL answered since it began', () => {
    const other = attempt({ url: '/b' }, 0, 100)
    expect(after(lane, other, attempt(timedOut, 50, 15_050)).limit).toBe(8)
    expect(after(lane, other, attempt(timedOut, 101, 15_101)).limit).toBe(4)
  })

  it('a time-out counts although its own URL answered, and not when another one did before that', () => {
    const own = attempt({}, 0, 200)
    expect(after(lane, own, attempt(timedOut, 50, 15_050)).limit).toBe(4)
    const other = attempt({ url: '/b' }, 0, 100)
    expect(after(lane, other, own, attempt(timedOut, 50, 15_050)).limit).toBe(8)
  })
})

describe('the breaker of a lane', () => {
  const failures = (count: number) =>
    Array.from({ length: count }, (_, n) => attempt(unconnected, n, n))

  it('a breaker opens at the fifth failed connection in a row, and for twice as long each time', () => {
    expect(after(newLane(0), ...failures(4)).breaker).toBe('closed')
    let lane = after(newLane(0), ...failures(4), attempt({}, 4), ...failures(4))
    expect(lane.breaker).toBe('closed')
    lane = after(newLane(0), ...failures(5))
    const openForS = [30, 60, 100, 100].map(() => {
      const until = lane.breakerUntilMs
      const nowMs = 1_000_000
      const openMs = lane.breaker === 'open' ? until : Number.NaN
      lane = learn({ ...lane, breaker: 'half_open' }, attempt(unconnected, nowMs, nowMs), terms)
      return [openMs, lane.breakerUntilMs - nowMs]
    })
    expect(openForS.map(([, nextMs]) => nextMs)).toEqual([60_000, 100_000, 100_000, 100_000])
    expect(openForS[0]?.[0]).toBe(30_004)
  })

  it('a breaker opens when eight of ten fail within a minute, and not over a longer time', () => {
    const errors = (count: number, everyMs: number) =>
      Array.from({ length: count }, (_, n) => attempt(refused(500), n * everyMs))
    const two = [attempt({}, 0), attempt({}, 0)]
    expect(after(newLane(0), ...two, ...errors(7, 1)).breaker).toBe('closed')
    expect(after(newLane(0), ...two, ...errors(8, 1)).breaker).toBe('open')
    expect(after(newLane(0), ...two, ...errors(8, 20_000)).breaker).toBe('closed')
  })

  it('a breaker closes with a success of its probe, and the limit then goes 2, 4', () => {
    const halfOpen: Lane = { ...newLane(0), breaker: 'half_open', breakerOpened: 3, limit: 9 }
    const closed = learn(halfOpen, attempt({}), terms)
    expect(closed).toMatchObject({ breaker: 'closed', limit: 2, breakerOpened: 3 })
    const grown = after(closed, attempt({}))
    expect(grown).toMatchObject({ limit: 4, breakerOpened: 3 })
    expect(after(grown, attempt({}))).toMatchObject({ limit: 4, breakerOpened: 0 })
  })

  it('a late failure does not open a breaker that is open already', () => {
    const open = after(newLane(0), ...failures(5))
    expect(after(open, attempt(unconnected, 0, 9_000)).breakerUntilMs).toBe(open.breakerUntilMs)
  })
})
