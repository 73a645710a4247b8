// Proves that an amount fits where there is room for it, and what the refusal says where there is not.
import { describe, expect, it } from 'vitest'
import { requireRoom } from './limit-room.ts'

const room = { singleMinor: 50n, dayMinor: 40n, monthMinor: 30n }

describe('an amount', () => {
  it('an amount fits when it is exactly what is left', () => {
    expect(() => requireRoom(room, 30n)).not.toThrow()
  })

  it.each([
    [31n, 'a month'],
    [41n, 'a day'],
    [51n, 'one transaction'],
  ])('an amount of %i is refused for the limit for %s', (amountMinor, span) => {
    const message = `User limits are exceeded: the limit for ${span}.`
    const refusal = expect.objectContaining({ reason: 'LIMIT_EXCEEDED', message })
    expect(() => requireRoom(room, amountMinor)).toThrow(refusal)
  })

  it('an amount never fits when nothing is left', () => {
    const none = { ...room, monthMinor: 0n }
    expect(() => requireRoom(none, 1n)).toThrow('the limit for a month')
  })
})
