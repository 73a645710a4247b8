// Writes files that only their owner may read, atomically.
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'

/**
 * Replaces a file in one step; a crash leaves the old content or the new. Without a flush that holds for a crash of ours, and not
 * for one of the machine.
 */
export function writePrivateFile(file: string, content: string, flush = true): void {
  const fresh = `${file}.${process.pid}.new`
  fs.rmSync(fresh, { force: true })
  fs.writeFileSync(fresh, content, { mode: 0o600, flush })
  fs.renameSync(fresh, file)
}

/** The file's text, trimmed; it is made from `content` first when there is none. */
export function readOrMakeFile(file: string, content: () => string): string {
  if (!fs.existsSync(file)) writePrivateFile(file, `${content()}\n`)
  return fs.readFileSync(file, 'utf8').trim()
}

/** A password of 192 random bits, in characters that need no escaping anywhere. */
export function newPassword(): string {
  return randomBytes(24).toString('hex')
}
