// Runs a command on a machine that stalls for seconds, the unit tests by default: npm run test:stalls -- [npx vitest run test/edge]
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { watchFamily } from './family.ts'

const runsMs = [4_000, 12_000] as const
const standsMs = [1_000, 4_000] as const

const [program = 'npx', ...args] =
  process.argv.length > 2 ? process.argv.slice(2) : ['npx', 'vitest', 'run']
const command = spawn(program, args, { stdio: 'inherit' })
const ended = new AbortController()
const { signal } = ended
const exit = once(command, 'exit').finally(() => ended.abort())
await once(command, 'spawn')
const family = watchFamily(command.pid as number)

/** Waits for some time between these, or until the command has ended. */
function pause([least, most]: readonly [number, number]): Promise<void> {
  return sleep(randomInt(least, most), undefined, { signal }).catch(() => {})
}

let stalls = 0
while (!signal.aborted) {
  await pause(runsMs)
  const goOn = family.freeze()
  await pause(standsMs)
  goOn()
  stalls += 1
}
family.close()
const [code] = (await exit) as [number | null]
process.stdout.write(`the machine stalled ${stalls} times\n`)
process.exitCode = code ?? 1
