// Holds processes still for tests, so that none stays frozen when a test run is killed.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { eventually } from './eventually.ts'

/**
 * Stops a process in its tracks, with its connections open, and resolves to what lets it go on. A stopped process takes
 * no notice of the signal on our death: a watchdog, which reads from us until we are gone, resumes it then.
 */
export async function freeze(pid: number): Promise<() => void> {
  const watchdog = spawn('/bin/sh', ['-c', 'read -r _; kill -CONT "$0"', String(pid)], {
    // Ctrl-C must not end it before us.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  process.kill(pid, 'SIGSTOP')
  // The signal is taken by one thread when it next has a processor; until then all of them work on, for milliseconds.
  await eventually(() => standsStill(pid))
  return () => {
    if (watchdog.exitCode !== null || watchdog.signalCode !== null || watchdog.killed) return
    watchdog.kill('SIGKILL')
    try {
      process.kill(pid, 'SIGCONT')
    } catch {
      // It was killed meanwhile.
    }
  }
}

function standsStill(pid: number): boolean {
  const threads = `/proc/${pid}/task`
  // One that was killed does not run either.
  const names = fs.existsSync(threads) ? fs.readdirSync(threads) : []
  return names.every((thread) => {
    try {
      // A process that has ended and whose parent stands still is not reaped.
      return /^State:\s*[TZX]/m.test(fs.readFileSync(`${threads}/${thread}/status`, 'utf8'))
    } catch {
      // It ended after we had its name.
      return true
    }
  })
}

/** Stops a process and all of its children, such as those of a PostgreSQL server; resolves to what lets them go on. */
export async function freezeFamily(pid: number): Promise<() => void> {
  // The parent first, so that it starts no more.
  const goOn = [await freeze(pid)]
  for (const child of childrenOf(pid)) goOn.push(await freeze(child))
  return () => {
    for (const one of goOn) one()
  }
}

function childrenOf(pid: number): number[] {
  const processes = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return processes.map(Number).filter((child) => {
    try {
      return new RegExp(`^PPid:\\s*${pid}$`, 'm').test(
        fs.readFileSync(`/proc/${child}/status`, 'utf8'),
      )
    } catch {
      return false
    }
  })
}
