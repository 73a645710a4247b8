// Keeps a value that is read from files up to date when they change.
import { statSync } from 'node:fs'
import type { Logger } from '../telemetry/log.ts'

/** The files that are watched, and how they are read. */
export type ReloadOptions<T> = {
  /** Shown in the log. */
  kind: string
  paths: readonly string[]
  /** Reads the files; may throw. */
  read: () => T
  log: Pick<Logger, 'warn'>
  /** Milliseconds since the epoch; a test passes its own clock. */
  now?: () => number
}

const recheckMs = 1_000

/**
 * Reads a value from files, and again when one of them has changed, which is checked once a second at most, when the
 * value is asked for. Throws what `read` throws the first time; later errors are logged and keep the last good value.
 */
export function reloadOnChange<T>(options: ReloadOptions<T>): () => T {
  const { kind, paths, read, log, now = Date.now } = options
  // The version first: files that change while they are read count as changed.
  let seen = versionOf(paths)
  let value = read()
  let logged = seen
  let checkedMs = now()
  return () => {
    const nowMs = now()
    // A clock that was set back makes the last check a later one.
    if (checkedMs <= nowMs && nowMs - checkedMs < recheckMs) return value
    checkedMs = nowMs
    const current = versionOf(paths)
    if (current === seen) return value
    try {
      value = read()
      seen = current
    } catch (error) {
      if (current !== logged) log.warn({ err: error, kind }, 'file changed and cannot be read')
      logged = current
    }
    return value
  }
}

function versionOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false })
      return stat === undefined ? 'absent' : `${stat.ino}:${stat.mtimeMs}:${stat.size}`
    })
    .join(' ')
}
