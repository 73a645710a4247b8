// Tests that a state machine does only what its table says.
import { describe, expect, it } from 'vitest'
import { isTerminal, type Machine, next } from './machine.ts'

type Door = 'open' | 'closed' | 'gone'
type Push = 'close' | 'open' | 'remove'

const door: Machine<Door, Push> = {
  open: { close: 'closed' },
  closed: { open: 'open', remove: 'gone' },
  gone: {},
}

describe('a machine', () => {
  it('a machine moves by its table and nowhere else', () => {
    const states: Door[] = ['open', 'closed', 'gone']
    const events: Push[] = ['close', 'open', 'remove']
    const moves = states.flatMap((state) =>
      events.map((event) => `${state} ${event} ${next(door, state, event) ?? '-'}`),
    )
    expect(moves).toEqual([
      'open close closed',
      'open open -',
      'open remove -',
      'closed close -',
      'closed open open',
      'closed remove gone',
      'gone close -',
      'gone open -',
      'gone remove -',
    ])
  })

  it('a machine ends where no event leads on', () => {
    expect(isTerminal(door, 'gone')).toBe(true)
    expect(isTerminal(door, 'closed')).toBe(false)
  })

  it('a machine takes no inherited property for an event', () => {
    const event: string = 'constructor'
    expect(next<Door, string>(door, 'gone', event)).toBeUndefined()
  })
})
