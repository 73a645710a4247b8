// Tests how often a loop polls for work while nothing notifies it, by a clock of the test.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLogger } from '../telemetry/log.ts'
import { type LoopOptions, startLoop } from './loop.ts'

const log = createLogger({ part: 'test', level: 'silent' })

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A loop that finds nothing, and how many rounds it makes in a while. */
function started(options: Pick<LoopOptions, 'pauseMs' | 'idlePauseMs' | 'gatherMs'>) {
  let rounds = 0
  const loop = startLoop({
    kind: 'test',
    log,
    ...options,
    round() {
      rounds += 1
      return Promise.resolve(false)
    },
  })
  return {
    loop,
    async roundsIn(ms: number): Promise<number> {
      const before = rounds
      await vi.advanceTimersByTimeAsync(ms)
      return rounds - before
    },
    async close(): Promise<void> {
      const closed = loop.close()
      await vi.runAllTimersAsync()
      await closed
    },
  }
}

describe('a loop', () => {
  it('polls less and less often until it is notified, then often again', async () => {
    const { loop, roundsIn, close } = started({ pauseMs: 200, idlePauseMs: 1_000 })
    await roundsIn(10_000)
    expect(await roundsIn(10_050)).toBe(10)
    loop.notify()
    expect(await roundsIn(10)).toBe(1)
    expect(await roundsIn(1_000)).toBeGreaterThanOrEqual(3)
    await close()
  })

  it('makes one round for notifications that come within the gathering time', async () => {
    const { loop, roundsIn, close } = started({ pauseMs: 5_000, gatherMs: () => 100 })
    await roundsIn(10_000)
    loop.notify()
    expect(await roundsIn(50)).toBe(0)
    loop.notify()
    expect(await roundsIn(60)).toBe(1)
    await close()
  })

  it('keeps its pause when it has only one', async () => {
    const { roundsIn, close } = started({ pauseMs: 195 })
    await roundsIn(2_000)
    expect(await roundsIn(2_000)).toBe(10)
    await close()
  })
})
