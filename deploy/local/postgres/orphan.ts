// Cleans up what a killed PostgreSQL or a killed launcher left in a cluster.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Reads the cluster's pid file. A server that still runs on this cluster (its launcher was killed a
 * moment ago) is ended; a stale file is removed, since its pid may belong to somebody else by now.
 */
export async function endOrphan(cluster: string, log: (line: string) => void): Promise<void> {
  const pidFile = path.join(cluster, 'postmaster.pid')
  const pid = readPid(pidFile)
  if (pid === undefined) return
  // The dying launcher has had SIGINT sent to it; SIGQUIT follows if that was not enough.
  const steps = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const
  for (const signal of steps) {
    if (!runsOn(pid, cluster)) break
    log(`ending the PostgreSQL that an earlier start left behind (${signal})`)
    process.kill(pid, signal)
    const untilMs = Date.now() + 5_000
    while (runsOn(pid, cluster) && Date.now() < untilMs) await sleep(25)
  }
  fs.rmSync(pidFile, { force: true })
}

function readPid(pidFile: string): number | undefined {
  try {
    const pid = Number.parseInt(fs.readFileSync(pidFile, 'utf8'), 10)
    return pid > 1 ? pid : undefined
  } catch {
    return undefined
  }
}

/** A server's working folder is its cluster; without /proc its command line has to do. */
function runsOn(pid: number, cluster: string): boolean {
  try {
    process.kill(pid, 0)
    if (fs.existsSync('/proc/self/cwd')) {
      return fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(cluster)
    }
  } catch {
    return false
  }
  const listed = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  return listed.stdout.includes(cluster)
}
