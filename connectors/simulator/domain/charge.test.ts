// Tests every state of a charge with every attempt and plan.
import { describe, expect, it } from 'vitest'
import {
  chargeMachine,
  closedReason,
  decideAttempt,
  decidePlannedAct,
  type Payability,
  weighPin,
} from './charge.ts'

const open: Payability = { state: 'open', isAnnounced: true, isExpired: false }
const paid = { outcome: 'paid' } as const

describe('a charge', () => {
  it.each(['paid', 'withdrawn', 'paid_late'] as const)('a charge pays nothing when %s', (state) => {
    expect(decideAttempt({ ...open, state }, paid)).toMatchObject({ outcome: 'refused' })
  })

  it('a charge pays what the means say while it is open', () => {
    expect(decideAttempt(open, paid)).toEqual(paid)
    expect(decideAttempt(open, weighPin('000002'))).toEqual({
      outcome: 'refused',
      refusal: 'declined',
    })
    expect(decideAttempt(open, weighPin('999999'))).toMatchObject({ refusal: 'wrong_credentials' })
    expect(closedReason({ ...open, isExpired: true })).toBe('expired')
    expect(closedReason({ ...open, isAnnounced: false })).toBe('withdrawn')
  })

  it('a charge accepts late money only while withdrawn, at any time', () => {
    const plan = { act: 'pay', actStarts: 'cancelled', isAnnounced: true, isExpired: true } as const
    const states = Object.keys(chargeMachine) as (keyof typeof chargeMachine)[]
    const taking = states.filter((state) => decidePlannedAct({ ...plan, state }) !== undefined)
    expect(taking).toEqual(['withdrawn'])
  })

  it('a charge is acted upon from its announcement only while it is open', () => {
    const plan = { ...open, act: 'refuse', actStarts: 'announced' } as const
    expect(decidePlannedAct(plan)).toEqual({ outcome: 'refused', refusal: 'declined' })
    expect(decidePlannedAct({ ...plan, state: 'withdrawn' })).toBeUndefined()
    expect(decidePlannedAct({ ...plan, isExpired: true })).toBeUndefined()
  })
})
