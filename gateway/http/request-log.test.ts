// Tests that samples are bounded and that the counts add up.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLogger } from '#platform/telemetry/log.ts'
import { type RequestLog, requestLog } from './request-start.ts'

let lines: Array<Record<string, unknown>>
let log: RequestLog
beforeEach(() => {
  vi.useFakeTimers()
  lines = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  log = requestLog(createLogger({ part: 'gateway', level: 'info', destination }))
})
afterEach(() => {
  vi.useRealTimers()
})

const sample = (kind: string, status: number) => log.sample(kind, { status }, 'request')
const logged = () => lines.map(({ status, leftOut }) => [status, leftOut])

describe('samples of a kind', () => {
  it('samples of a kind are the first at once, then one line a second with the count of the others', () => {
    for (let status = 1; status <= 10; status += 1) sample('INVALID_HEADER', status)
    expect(logged()).toEqual([[1, undefined]])
    vi.advanceTimersByTime(1_000)
    expect(logged()).toEqual([
      [1, undefined],
      [10, 8],
    ])
    sample('INVALID_HEADER', 11)
    expect(lines).toHaveLength(2)
    vi.advanceTimersByTime(1_000)
    expect(logged().at(-1)).toEqual([11, undefined])
  })

  it('samples of a kind are logged at once again after a second without any', () => {
    sample('INVALID_HEADER', 1)
    vi.advanceTimersByTime(1_000)
    sample('INVALID_HEADER', 2)
    expect(logged()).toEqual([
      [1, undefined],
      [2, undefined],
    ])
  })

  it('samples of a kind do not hold up those of another', () => {
    sample('INVALID_HEADER', 1)
    sample('ENDPOINT_NOT_FOUND', 2)
    expect(lines).toHaveLength(2)
  })

  it('samples of a kind are all accounted for at the end', () => {
    for (let status = 1; status <= 5; status += 1) sample('INVALID_HEADER', status)
    log.flush()
    expect(logged()).toEqual([
      [1, undefined],
      [5, 3],
    ])
    vi.advanceTimersByTime(10_000)
    expect(lines).toHaveLength(2)
    sample('INVALID_HEADER', 6)
    expect(logged().at(-1)).toEqual([6, undefined])
  })
})

it('every other request is one line', () => {
  for (let status = 1; status <= 3; status += 1) log.each({ status }, 'request')
  expect(logged()).toEqual([
    [1, undefined],
    [2, undefined],
    [3, undefined],
  ])
})
