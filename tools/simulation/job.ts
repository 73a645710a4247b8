// A process that runs the seeds that its parent sends, beside others: first comes what to run, then one seed after the other.
import { replaceGlobals } from './engine/globals.ts'
import type { Runner, RunnerOptions } from './runner.ts'

replaceGlobals()
const { openRunner } = await import('./runner.ts')
let runner: Promise<Runner> | undefined

async function take(message: RunnerOptions | number): Promise<void> {
  if (typeof message === 'object') runner = openRunner(message)
  else process.send?.(await (await runner)?.run(message))
}

async function close(): Promise<void> {
  await (await runner)?.close()
}

process.on('message', (message: RunnerOptions | number) => void take(message))
process.on('disconnect', () => void close())
