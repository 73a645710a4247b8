// Holds processes still for tests, so that none stays frozen when a test run is killed; it must not know what they are.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Stops a process in its tracks, with its connections open, and resolves to what lets it go on. A stopped process takes
 * no notice of the signal that tells of our death: a watchdog, which reads from us until we are gone, lets it go on then.
 */
export async function freeze(pid: number): Promise<() => void> {
  const watchdog = spawn('/bin/sh', ['-c', 'read -r _; kill -CONT "$0"', String(pid)], {
    // Ctrl-C must not end it before us.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  process.kill(pid, 'SIGSTOP')
  // The signal is taken by one thread when it next has a processor; until then all of them work on, for milliseconds.
  while (!standsStill(pid)) await sleep(1)
  return () => {
    if (watchdog.exitCode !== null || watchdog.signalCode !== null || watchdog.killed) return
    watchdog.kill('SIGKILL')
    process.kill(pid, 'SIGCONT')
  }
}

function standsStill(pid: number): boolean {
  const threads = `/proc/${pid}/task`
  return fs.readdirSync(threads).every((thread) => {
    try {
      return /^State:\s*T/m.test(fs.readFileSync(`${threads}/${thread}/status`, 'utf8'))
    } catch {
      // It ended after we had its name.
      return true
    }
  })
}
