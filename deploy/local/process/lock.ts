// Locks a data folder, so that one launcher at a time uses it.
import fs from 'node:fs'
import path from 'node:path'
import { LaunchError } from '../preflight/launch-error.ts'

/** A lock that is held. */
export type Lock = {
  /** True when the launcher that held it before was killed: its parts may be ending still. */
  takenOver: boolean
  release(): void
}

type Holder = { pid: number; startedAt: string | undefined }

/** Takes the folder's lock. The lock of a launcher that no longer runs is taken over. */
export function takeLock(dataDir: string): Lock {
  const file = path.join(dataDir, 'launcher.lock')
  const mine = `${file}.${process.pid}`
  const content = JSON.stringify({ pid: process.pid, startedAt: startOf(process.pid) })
  fs.writeFileSync(mine, content, { mode: 0o600 })
  try {
    let takenOver = false
    while (!linked(mine, file)) {
      removeStale(file, dataDir)
      takenOver = true
    }
    return { takenOver, release: () => release(file, content) }
  } finally {
    fs.rmSync(mine, { force: true })
  }
}

/** A link appears with its whole content or not at all, and fails when the name is taken. */
function linked(from: string, to: string): boolean {
  try {
    fs.linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Moves a stale lock aside and looks again at what was moved, since another launcher may have been faster. */
function removeStale(file: string, dataDir: string): void {
  requireGone(file, dataDir)
  const aside = `${file}.${process.pid}.stale`
  try {
    fs.renameSync(file, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  try {
    requireGone(aside, dataDir)
  } catch (error) {
    linked(aside, file)
    throw error
  } finally {
    fs.rmSync(aside, { force: true })
  }
}

function requireGone(file: string, dataDir: string): void {
  const holder = readHolder(file)
  if (holder === undefined || !runs(holder)) return
  throw new LaunchError(
    `Payweave is already running on ${dataDir} (launcher ${holder.pid}). Stop that one first, or ` +
      'start on another folder: set PAYWEAVE_DATA_DIR, PORT and PORT_BASE',
  )
}

function readHolder(file: string): Holder | undefined {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Holder
  } catch {
    return undefined
  }
}

/** The start time distinguishes a process from a later one with the same pid. */
function runs({ pid, startedAt }: Holder): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return startOf(pid) === startedAt
}

/** Undefined where there is no /proc; a process that only waits to be reaped has ended. */
function startOf(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in brackets and may hold spaces.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' || state === 'X' ? 'ended' : rest[18]
  } catch {
    return undefined
  }
}

function release(file: string, content: string): void {
  try {
    if (fs.readFileSync(file, 'utf8') === content) fs.rmSync(file)
  } catch {
    // Gone already.
  }
}
