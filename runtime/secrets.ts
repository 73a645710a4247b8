// Reads the 32-byte secrets of a process from its folder; it must not log, cache or print a value.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const hexSecret = /^[0-9a-f]{64}$/i

/**
 * The 32 bytes that the file `name` in `dir` holds as 64 hex digits. Throws at boot, naming the file
 * and never its content, when it is absent or of another form.
 */
export function readSecret(dir: string, name: string): Buffer {
  const path = join(dir, name)
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new Error(`secret file ${path} cannot be read`, { cause })
  }
  if (!hexSecret.test(text)) throw new Error(`secret file ${path} must hold 64 hex digits`)
  return Buffer.from(text, 'hex')
}
