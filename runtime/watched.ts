// Keeps a value that comes from files as new as they are; it must not know what they hold.
import { statSync } from 'node:fs'
import type { Logger } from './log.ts'

/** What is watched, and how it is read. */
export type WatchedOptions<T> = {
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
 * read after boot leave the last good value in force.
 */
export function watched<T>(options: WatchedOptions<T>): () => T {
  const { kind, paths, read, log, now = Date.now } = options
  let value = read()
  let seen = versionOf(paths)
  let told = seen
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
      if (current !== told) log.warn({ err: error, kind }, 'file changed and cannot be read')
      told = current
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
