// Tests which rule stops which request, at the boundary of each rule.
import { describe, expect, it } from 'vitest'
import { findFraud } from './fraud.ts'

const rules = {
  velocityPerMin: 30,
  ceilingsMinor: { USD: 1_000_000n },
  blockedMobileNumbers: ['+12025550106'],
}
const harmless = {
  amountMinor: 1_000_000n,
  currency: 'USD',
  payerNumbers: ['+12025550100'],
  recentRequests: 29,
}

describe('the fraud rules', () => {
  it('the fraud rules let a request pass that reaches every limit but breaks none', () => {
    expect(findFraud(rules, harmless)).toBeUndefined()
  })

  it('the fraud rules stop a blocked number among the payers', () => {
    const payerNumbers = ['+12025550100', '+12025550106']
    expect(findFraud(rules, { ...harmless, payerNumbers })).toBe('blocked_number')
  })

  it('the fraud rules stop an amount above the ceiling of its currency, and of no other', () => {
    expect(findFraud(rules, { ...harmless, amountMinor: 1_000_001n })).toBe('ceiling')
    const elsewhere = { ...harmless, amountMinor: 1_000_001n, currency: 'EUR' }
    expect(findFraud(rules, elsewhere)).toBeUndefined()
  })

  it('the fraud rules stop the thirty-first request of a minute', () => {
    expect(findFraud(rules, { ...harmless, recentRequests: 30 })).toBe('velocity')
  })
})
