// Keeps a value that is read from files up to date when they change.
import { statSync } from 'node:fs'
import type { Logger } from '../telemetry/log.ts'

/** What is watched, and how it is read. */
export type ReloadOptions<T> = {
  /** Shown in the log. */
  kind: string
  paths: readonly string[]
  read: () => T
  log: Pick<Logger, 'warn'>
  now?: () => number
}

const recheckMs = 1_000

/**
 * A value read from files and read again when one of them changed, looked at once a second at most. Files that cannot be
 * read after boot keep the last good value.
 */
export function reloadOnChange<T>(options: ReloadOptions<T>): () => T {
  const { kind, paths, read, log, now = Date.now } = options
  let value = read()
  let seen = versionOf(paths)
  let logged = seen
  let checkedMs = now()
  return () => {
    const nowMs = now()
    if (nowMs - checkedMs < recheckMs) return value
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
