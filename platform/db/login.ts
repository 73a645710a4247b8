// Enables password login for a service's role. The server gets only a digest; the password is never logged or kept.
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigurationError } from '../process/configuration-error.ts'

const iterations = 4_096
const digestBytes = 32

/**
 * Reads the password in a file, without the line break at its end. Throws a ConfigurationError when the file cannot be
 * read or is empty.
 */
export function readPassword(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigurationError(`password file ${file} cannot be read`, { cause })
  }
  const password = text.replace(/\r?\n$/, '')
  if (password === '') throw new ConfigurationError(`password file ${file} is empty`)
  return password
}

/**
 * Returns what PostgreSQL stores of a password (RFC 5803), so that neither its log nor its tables ever hold the
 * password itself. Throws an Error for a password that is not printable ASCII.
 */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  // Preparing other characters (RFC 4013) is needed for typed passwords only; ours are generated.
  if (!/^[\x20-\x7e]+$/.test(password)) throw new Error('a password must be printable ASCII')
  const salted = pbkdf2Sync(password, salt, iterations, digestBytes, 'sha256')
  const key = (name: string) => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(key('Client Key')).digest('base64')
  const server = key('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${server}`
}
