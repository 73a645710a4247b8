// Tests how often a loop does its work, by timers that the test moves.
import { describe, expect, it } from 'vitest'
import { createLogger } from '../telemetry/log.ts'
import { createManualTimers } from '../testing/timers.ts'
import { type LoopOptions, startLoop } from './loop.ts'

const log = createLogger({ part: 'test', level: 'silent' })

/** A loop whose rounds give `results` in turn and then false; its first round is over before `roundsIn` counts more. */
function started(
  options: Pick<LoopOptions, 'pauseMs' | 'idlePauseMs' | 'firstPauseMs' | 'gatherMs'>,
  results: (boolean | number | Error)[] = [],
) {
  const timers = createManualTimers()
  let rounds = 0
  const loop = startLoop({
    kind: 'test',
    log,
    timers,
    ...options,
    round() {
      const result = results[rounds] ?? false
      rounds += 1
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result)
    },
  })
  return {
    loop,
    async roundsIn(ms: number): Promise<number> {
      const before = rounds
      await timers.advance(ms)
      return rounds - before
    },
    async close(): Promise<void> {
      const closed = loop.close()
      await timers.advance(100)
      await closed
    },
  }
}

describe('a loop', () => {
  it('a loop polls less and less often until it is notified, then often again', async () => {
    const { loop, roundsIn, close } = started({ pauseMs: 200, idlePauseMs: 1_000 })
    await roundsIn(10_000)
    expect(await roundsIn(10_050)).toBe(10)
    loop.notify()
    expect(await roundsIn(10)).toBe(1)
    expect(await roundsIn(1_000)).toBeGreaterThanOrEqual(3)
    await close()
  })

  it('a loop makes one round for notifications that come within the gathering time', async () => {
    const { loop, roundsIn, close } = started({ pauseMs: 5_000, gatherMs: () => 100 })
    await roundsIn(10_000)
    loop.notify()
    expect(await roundsIn(50)).toBe(0)
    loop.notify()
    expect(await roundsIn(60)).toBe(1)
    await close()
  })

  it('a loop keeps its pause when it has only one', async () => {
    const { roundsIn, close } = started({ pauseMs: 195 })
    await roundsIn(2_000)
    expect(await roundsIn(2_000)).toBe(10)
    await close()
  })

  it('a loop makes the next round at once while there is more to do', async () => {
    const { roundsIn, close } = started({ pauseMs: 1_000 }, [true, true, false])
    expect(await roundsIn(0)).toBe(2)
    await close()
  })

  it('a loop pauses for as long as a round says, and then as it did at first', async () => {
    const pauses = { pauseMs: 100, idlePauseMs: 10_000, gatherMs: () => 0 }
    const { roundsIn, close } = started(pauses, [false, false, false, 700])
    await roundsIn(100 + 150 + 225)
    expect(await roundsIn(699)).toBe(0)
    expect(await roundsIn(1)).toBe(1)
    expect(await roundsIn(100)).toBe(1)
    await close()
  })

  it('a loop goes on after a round that throws', async () => {
    const { roundsIn, close } = started({ pauseMs: 1_000 }, [new Error('lost')])
    expect(await roundsIn(1_010)).toBe(1)
    await close()
  })

  it('a loop waits before its first round where it is asked to', async () => {
    const { roundsIn, close } = started({ pauseMs: 1_000, firstPauseMs: 300 })
    expect(await roundsIn(299)).toBe(0)
    expect(await roundsIn(50)).toBe(1)
    await close()
  })

  it('a loop leaves the time between two rounds to notifications', async () => {
    const spacing = { pauseMs: 20, gatherMs: ({ agoMs }: { agoMs: number }) => 50 - agoMs }
    const { loop, roundsIn, close } = started(spacing)
    await roundsIn(1)
    loop.notify()
    expect(await roundsIn(48)).toBe(0)
    expect(await roundsIn(1)).toBe(1)
    await close()
  })
})
