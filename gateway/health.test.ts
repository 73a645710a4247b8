// Tests how the readiness of the parts is queried.
import { describe, expect, it } from 'vitest'
import { readyParts } from './health.ts'

describe('the state of the parts', () => {
  it('the state of the parts names each one, and a probe that fails is not ready', async () => {
    const ready = readyParts({
      gateway: () => true,
      nats: () => false,
      payments: () => Promise.reject(new Error('down')),
      accounts: () => Promise.resolve(true),
    })
    expect(await ready()).toEqual({ gateway: true, nats: false, payments: false, accounts: true })
  })

  it('the state of the parts is probed once for concurrent requests', async () => {
    let asked = 0
    let nowMs = 0
    const count = () => {
      asked += 1
      return true
    }
    const ready = readyParts({ one: count }, () => nowMs)
    await Promise.all([ready(), ready()])
    expect(asked).toBe(1)
    nowMs = 1_000
    await ready()
    expect(asked).toBe(2)
  })
})
