// Tests that the live heap of other processes is read, without their garbage.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../test/support/eventually.ts'
import { temporaryFolder } from '../../../test/support/servers.ts'
import { heapFolder, readLiveMb } from './heaps.ts'

/** Keeps 30 MB, and leaves 50 MB to be collected. */
const program = `
globalThis.kept = Buffer.alloc(30 * 2 ** 20, 1)
Buffer.alloc(50 * 2 ** 20, 1)
setInterval(() => undefined, 60_000)`

it('the live heap of a process is read without its garbage, and other processes are left alone', async () => {
  const folder = temporaryFolder('heaps')
  const heaps = path.join(folder, heapFolder)
  const loaded = path.join(import.meta.dirname, 'live-heap.mjs')
  const child = spawn(process.execPath, ['--expose-gc', '--import', loaded, '-e', program], {
    env: { ...process.env, HEAP_FOLDER: heaps },
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
    fs.rmSync(folder, { recursive: true })
  })
  const { pid = 0 } = child
  await eventually(() => fs.existsSync(path.join(heaps, String(pid))))
  const live = await eventually(
    () => readLiveMb(folder, { gateway: pid, nats: process.pid }),
    ({ gateway }) => expect(gateway).toBeGreaterThan(30),
  )
  expect(Object.keys(live)).toEqual(['gateway'])
  expect(live['gateway']).toBeLessThan(60)
})
