// All processes that a command starts, which stand still together as on a machine that stalls.
import { spawn } from 'node:child_process'
import fs from 'node:fs'

const lookMs = 50

/** The processes of a command. */
export type Family = {
  /**
   * Stops them all, and returns what lets them go on. They go on as well when this process is killed. One that a test has stopped stays as
   * it is.
   */
  freeze(): () => void
  /** Looks for no more of them. */
  close(): void
}

/** Follows a process and all that it starts, also what outlives the process that started it. */
export function watchFamily(pid: number): Family {
  const members = new Set([pid])
  const look = () => {
    const parents = parentsOfAll()
    for (const member of members) if (!parents.has(member)) members.delete(member)
    // A parent mostly has a lower number than its children; the next look finds the others.
    for (const [process, parent] of parents) if (members.has(parent)) members.add(process)
  }
  const looking = setInterval(look, lookMs)
  return {
    freeze() {
      const frozen = new Set<number>()
      // What was started while the others were stopped is stopped by the next look.
      for (let found = -1; found < frozen.size; ) {
        found = frozen.size
        look()
        for (const member of members) {
          if (frozen.has(member) || isStopped(member)) continue
          if (send(member, 'SIGSTOP')) frozen.add(member)
        }
      }
      const numbers = [...frozen].map(String)
      const watchdog = spawn('/bin/sh', ['-c', 'read -r _; kill -CONT "$@"', 'sh', ...numbers], {
        // Ctrl-C must not end it before us.
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      return () => {
        watchdog.kill('SIGKILL')
        for (const member of frozen) send(member, 'SIGCONT')
      }
    },
    close: () => clearInterval(looking),
  }
}

const isStopped = (pid: number) => /^State:\s*T/m.test(statusOf(pid))

/** Returns whether the process is still there. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** The parent of each process of the machine, in the order of their numbers. */
function parentsOfAll(): Map<number, number> {
  const numbers = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const parents = numbers.map(Number).toSorted((a, b) => a - b)
  return new Map(
    parents.flatMap((pid) => {
      const found = /^PPid:\s*(\d+)$/m.exec(statusOf(pid))?.[1]
      return found === undefined ? [] : [[pid, Number(found)] as const]
    }),
  )
}

/** Empty for a process that has ended. */
function statusOf(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
