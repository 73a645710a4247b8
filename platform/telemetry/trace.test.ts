// What a trace identifier looks like and when a trace is continued.

import { describe, expect, it } from 'vitest'
import { childTraceparent, newTraceparent } from './spans.ts'

const form = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/

describe('traceparent', () => {
  it('traceparent is new for every trace', () => {
    const made = new Set(Array.from({ length: 2_000 }, () => newTraceparent()))
    expect(made.size).toBe(2_000)
    for (const value of made) expect(value).toMatch(form)
  })

  it('traceparent keeps the trace and the flags, and changes the span, for a child', () => {
    const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'
    const child = childTraceparent(parent)
    expect(child.slice(0, 35)).toBe(parent.slice(0, 35))
    expect(child.slice(36, 52)).not.toBe(parent.slice(36, 52))
    expect(child.slice(-3)).toBe('-00')
  })

  it.each([
    undefined,
    null,
    '',
    'abc',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`,
    `ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`,
    `00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01`,
  ])('traceparent starts a new trace when the parent is %s', (parent) => {
    expect(childTraceparent(parent)).toMatch(form)
  })
})
