// Holds that a server which a test has frozen goes on when the test lets it, and ends when the test's process is killed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from './eventually.ts'
import { freeze } from './freeze.ts'
import { runs } from './mesh.ts'
import { freePorts, ownNats, temporaryFolder } from './servers.ts'

const stateOf = (pid: number) =>
  /^State:\s*(\w)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]

/** A process that freezes a server of its own, as a test does, and says the server's pid. */
async function freezer(dataDir: string) {
  const [port] = await freePorts(1)
  const at = (file: string) => JSON.stringify(path.resolve(import.meta.dirname, '../..', file))
  const script = `const { startNats } = await import(${at('deploy/local/nats/nats.ts')})
    const { freeze } = await import(${at('test/support/freeze.ts')})
    const server = await startNats({ dataDir: ${JSON.stringify(dataDir)}, port: ${port}, log() {} })
    await freeze(server.pid)
    process.stdout.write(String(server.pid))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, serverPid: Number(said) }
}

describe('a frozen server', () => {
  it('a frozen server stands still until it is resumed', async () => {
    const server = await ownNats()
    onTestFinished(() => server.remove())
    const thaw = await freeze(server.pid())
    expect(stateOf(server.pid())).toBe('T')
    thaw()
    await eventually(() => expect(stateOf(server.pid())).not.toBe('T'))
    // A second call has no effect on a process that may have reused the pid.
    thaw()
  })

  it('a frozen server ends when the process that froze it is killed', async () => {
    const folder = temporaryFolder('frozen')
    onTestFinished(() => fs.rmSync(folder, { recursive: true }))
    const { child, serverPid } = await freezer(path.join(folder, 'nats'))
    onTestFinished(() => void child.kill('SIGKILL'))
    expect(stateOf(serverPid)).toBe('T')
    child.kill('SIGKILL')
    await eventually(() => expect(runs(serverPid)).toBe(false))
  })
})
