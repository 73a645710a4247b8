// Runners in processes of their own, so that each core runs a seed.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Runner, RunnerOptions, SeedResult } from './runner.ts'

/** Starts a process that runs seeds. Its calls reject when the process ends. */
export function startJob(options: RunnerOptions): Runner {
  const child = fork(path.join(import.meta.dirname, 'job.ts'))
  const exited = once(child, 'exit')
  const lost = exited.then(([code]) => {
    throw new Error(`a process of the simulation ended with ${code}`)
  })
  // It counts only while a seed runs.
  lost.catch(() => undefined)
  child.send(options)
  return {
    async run(seed) {
      const answer = once(child, 'message')
      child.send(seed)
      const [result] = await Promise.race([answer, lost])
      return result as SeedResult
    },
    async close() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
