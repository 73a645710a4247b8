// Holds processes still for tests, so that none stays frozen when a test run is killed; it must not know what they are.
import { spawn } from 'node:child_process'

/**
 * Stops a process in its tracks, with its connections open, and answers what lets it go on. A stopped process takes no
 * notice of the signal that tells of our death: a watchdog, which reads from us until we are gone, lets it go on then.
 */
export function freeze(pid: number): () => void {
  const watchdog = spawn('/bin/sh', ['-c', 'read -r _; kill -CONT "$0"', String(pid)], {
    // Ctrl-C must not end it before us.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  process.kill(pid, 'SIGSTOP')
  return () => {
    if (watchdog.exitCode !== null || watchdog.signalCode !== null || watchdog.killed) return
    watchdog.kill('SIGKILL')
    process.kill(pid, 'SIGCONT')
  }
}
