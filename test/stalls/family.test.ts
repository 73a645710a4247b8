// Tests that all processes of a command stand still together, and go on.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { watchFamily } from './family.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

const standsStill = (pid: number) =>
  /^State:\s*T/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))

it('a command, its children and what outlives the process that started it stand still together and go on', async () => {
  // The shell between the two ends, so that the last one has another parent.
  const command = spawn('/bin/sh', ['-c', '(sleep 600 & sleep 1; echo $!) ; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const { pid = 0, stdout } = command
  const family = watchFamily(pid)
  ends.push(() => {
    family.close()
    command.kill('SIGKILL')
  })
  const [line] = (await once(stdout, 'data')) as [Buffer]
  const orphan = Number(line.toString())
  ends.push(() => process.kill(orphan, 'SIGKILL'))
  const goOn = family.freeze()
  await eventually(() => expect([pid, orphan].map(standsStill)).toEqual([true, true]))
  goOn()
  await eventually(() => expect([pid, orphan].map(standsStill)).toEqual([false, false]))
})
