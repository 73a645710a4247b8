// Tests what follows an attempt, and that ids follow from events.
import { describe, expect, it } from 'vitest'
import { isUuid, newId } from '#core/identity/id.ts'
import { isTerminal } from '#core/machine.ts'
import {
  type DeliveryState,
  deliveryId,
  deliveryMachine,
  endpointId,
  judge,
  parseRetryAfter,
} from './delivery.ts'

const scheduleS = [1, 2, 5]
const terms = { scheduleS, failures: 0, random: 0.5 }

describe('what follows an attempt', () => {
  it('a delivery ends after a 2xx', () => {
    expect(judge({ outcome: 'delivered', status: 204 }, terms)).toEqual({ state: 'delivered' })
  })

  it('a delivery waits each pause of the schedule in turn, then is exhausted', () => {
    const verdicts = [0, 1, 2, 3].map((failures) =>
      judge({ outcome: 'refused', status: 500 }, { ...terms, failures }),
    )
    expect(verdicts).toEqual([
      { state: 'pending', delayMs: 1_000 },
      { state: 'pending', delayMs: 2_000 },
      { state: 'pending', delayMs: 5_000 },
      { state: 'exhausted' },
    ])
  })

  it.each([
    [0, 4_000],
    [0.25, 4_500],
    [1, 6_000],
  ])(
    'a pause between attempts is within 20 %% of the schedule: drawn %d, it is %d ms',
    (random, delayMs) => {
      const verdict = judge({ outcome: 'timed_out' }, { ...terms, failures: 2, random })
      expect(verdict).toEqual({ state: 'pending', delayMs })
    },
  )

  it.each([
    [10, 0, 1_000],
    [10, 5, 5_000],
    [10, 99_999, 3_600_000],
    [3_600, 99_999, 7_200_000],
    [3_600, 4_000, 4_000_000],
  ])(
    'a pause with a base of %d s after Retry-After %d is long enough',
    (baseS, retryAfterS, delayMs) => {
      const verdict = judge(
        { outcome: 'refused', status: 429, retryAfterS },
        { ...terms, scheduleS: [baseS] },
      )
      const expected = retryAfterS > baseS ? delayMs : baseS * 1_000
      expect(verdict).toEqual({ state: 'pending', delayMs: expected })
    },
  )

  it('the next attempt is never earlier than the drawn pause, for any Retry-After', () => {
    const verdict = judge(
      { outcome: 'refused', status: 503, retryAfterS: 11 },
      { ...terms, scheduleS: [10], random: 1 },
    )
    expect(verdict.delayMs).toBe(12_000)
  })

  it('a delivery ends after a 410 and for a blocked address, even with attempts left', () => {
    expect(judge({ outcome: 'refused', status: 410 }, terms)).toEqual({ state: 'gone' })
    expect(judge({ outcome: 'blocked' }, terms)).toEqual({ state: 'blocked' })
  })

  it('a delivery is attempted again at once when the outcome is unknown, even after the last pause', () => {
    const verdict = judge({ outcome: 'unknown' }, { ...terms, failures: 3 })
    expect(verdict).toEqual({ state: 'pending', delayMs: 0 })
  })
})

describe('Retry-After', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  it.each([
    ['5', 5],
    [' 0 ', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['Thursday, 01-Jan-26 00:00:30 GMT', 30],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 999_999_999],
  ])('the Retry-After %s is read as %d s', (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds)
  })

  it.each([undefined, '', '-1', '1.5', 'soon', '5 s', '1e3', '2026-01-01', '99999999999'])(
    'the Retry-After %s says nothing',
    (header) => {
      expect(parseRetryAfter(header, now)).toBeUndefined()
    },
  )
})

describe('an id', () => {
  it('the id of a delivery follows from event, kind and party, and differs with each', () => {
    const [one, other] = [newId(), newId()]
    const ids = [
      deliveryId(one, 'payment_initiated', 'payerIndex.0'),
      deliveryId(one, 'payment_initiated', 'payerIndex.1'),
      deliveryId(one, 'payment_completed', 'payerIndex.0'),
      deliveryId(other, 'payment_initiated', 'payerIndex.0'),
      endpointId('p1', 'https://example.com', 'notify'),
      endpointId('p1', 'https://example.com', 'callback'),
      endpointId('p2', 'https://example.com', 'notify'),
      endpointId('p1', 'https://example.com:8443', 'notify'),
    ]
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every(isUuid)).toBe(true)
    expect(deliveryId(one, 'payment_initiated', 'payerIndex.0')).toBe(ids[0])
  })

  it('the id of a delivery sorts by the time of its event', () => {
    const events = ['019a9c00-0000-7fff-bfff-ffffffffffff', '019a9c00-0001-7000-8000-000000000000']
    const ids = events.map((eventId) => deliveryId(eventId, 'payment_initiated', 'payerIndex.0'))
    expect(ids.toSorted()).toEqual(ids)
    expect(ids.every(isUuid)).toBe(true)
  })
})

describe('the states of a delivery', () => {
  const states = Object.keys(deliveryMachine) as DeliveryState[]
  it('the states of a delivery are left only from pending and sending', () => {
    const open = states.filter((state) => !isTerminal(deliveryMachine, state))
    expect(open).toEqual(['pending', 'sending'])
  })
})
