// Tests that one launcher at a time uses a data folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/servers.ts'
import { takeLock } from './lock.ts'

let folder: string

beforeEach(() => {
  folder = temporaryFolder('lock')
})

afterEach(() => {
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Another process that takes the lock and keeps it until it is killed. */
async function otherHolder() {
  const script = `const { takeLock } = await import(${JSON.stringify(path.resolve('deploy/local/process/lock.ts'))})
    takeLock(${JSON.stringify(folder)}); process.stdout.write('held'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}

describe('the lock of a data folder', () => {
  it('the lock of a data folder is held by one launcher at a time', async () => {
    const other = await otherHolder()
    expect(() => takeLock(folder)).toThrow(`launcher ${other.pid}`)
    other.kill('SIGKILL')
    await once(other, 'exit')
  })

  it('the lock of a data folder is taken over from a launcher that was killed', async () => {
    const other = await otherHolder()
    other.kill('SIGKILL')
    await once(other, 'exit')
    const lock = takeLock(folder)
    expect(lock.takenOver).toBe(true)
    lock.release()
  })

  it('the lock of a data folder is free again after its release', () => {
    takeLock(folder).release()
    const lock = takeLock(folder)
    expect(lock.takenOver).toBe(false)
    lock.release()
    expect(fs.readdirSync(folder)).toEqual([])
  })

  it('the lock of a data folder does not take a later process with the same pid for its holder', () => {
    const holder = { pid: process.pid, startedAt: '1' }
    fs.writeFileSync(path.join(folder, 'launcher.lock'), JSON.stringify(holder))
    const lock = takeLock(folder)
    expect(lock.takenOver).toBe(true)
    lock.release()
  })

  it('the lock of a data folder is taken over when its file was truncated', () => {
    fs.writeFileSync(path.join(folder, 'launcher.lock'), '')
    expect(takeLock(folder).takenOver).toBe(true)
  })
})
