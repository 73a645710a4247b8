// Holds that a stopwatch counts what a process waits, and hardly any of what it stood still.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startStopwatch } from './stopwatch.ts'

/** Nothing of this process runs meanwhile, as when the machine stands still. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

it('a stopwatch counts a wait in full and of a standstill no more than a moment', async () => {
  const watch = startStopwatch()
  const startedMs = performance.now()
  await sleep(400)
  standStill(1_500)
  const countedMs = watch.elapsedMs()
  const tookMs = performance.now() - startedMs
  expect(countedMs).toBeLessThanOrEqual(tookMs - 1_200)
  await sleep(400)
  expect(watch.elapsedMs()).toBeGreaterThan(250)
})
