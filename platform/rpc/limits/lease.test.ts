// Tests that buffered bytes stay within their limits, large messages leave room for small ones, and all is released.

import { describe, expect, it } from 'vitest'
import { ByteBudget, Lease, largeMessageBytes } from './limits.ts'

const large = largeMessageBytes + 1
const limits = { maxBytes: 3 * large, maxLargeBytes: 2 * large }

describe('a budget', () => {
  it('a budget has room for small messages while large ones fill their part of it', () => {
    const budget = new ByteBudget(limits)
    const [first, second, third] = [new Lease(budget), new Lease(budget), new Lease(budget)]
    expect(first?.resize(large)).toBe(true)
    expect(second?.resize(large)).toBe(true)
    expect(third?.resize(large)).toBe(false)
    expect(third?.wasRefused).toBe(true)
    expect(third?.resize(largeMessageBytes)).toBe(true)
    expect(budget.heldBytes).toBe(2 * large + largeMessageBytes)
    expect(new Lease(budget).resize(largeMessageBytes)).toBe(false)
  })

  it('a budget is part of a larger one, which others fill too', () => {
    const whole = new ByteBudget(limits)
    const parts = [new ByteBudget(limits, whole), new ByteBudget(limits, whole)]
    const leases = parts.map((part) => new Lease(part))
    expect(leases[0]?.resize(2 * large)).toBe(true)
    expect(leases[1]?.resize(large)).toBe(false)
    expect(parts[1]?.heldBytes).toBe(0)
    leases[0]?.release()
    expect(whole.heldBytes).toBe(0)
    expect(leases[1]?.resize(2 * large)).toBe(true)
  })
})

describe('a lease', () => {
  it('a lease gives back what it holds once, and holds nothing afterwards', () => {
    let released = 0
    const budget = new ByteBudget(limits)
    const lease = new Lease(budget, () => {
      released += 1
    })
    expect(lease.resize(100)).toBe(true)
    expect(lease.resize(40)).toBe(true)
    expect(budget.heldBytes).toBe(40)
    lease.release()
    lease.release()
    expect([budget.heldBytes, released]).toEqual([0, 1])
    expect(lease.resize(1)).toBe(false)
    expect(budget.heldBytes).toBe(0)
  })
})
