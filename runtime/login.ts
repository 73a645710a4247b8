// Lets a service's role log in by a password, of which the server is told a digest only. It must not log or keep it.
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

const iterations = 4_096
const digestBytes = 32

/** The password that a file holds; the line's end at its end is no part of it. */
export function readPassword(file: string): string {
  const password = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  if (password === '') throw new Error(`password file ${file} is empty`)
  return password
}

/** What PostgreSQL stores of a password (RFC 5803): its log and its tables never hold the password itself. */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  // Preparing other characters (RFC 4013) is left to those who type passwords; ours are made by programs.
  if (!/^[\x20-\x7e]+$/.test(password)) throw new Error('a password must be printable ASCII')
  const salted = pbkdf2Sync(password, salt, iterations, digestBytes, 'sha256')
  const key = (name: string) => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(key('Client Key')).digest('base64')
  const server = key('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${server}`
}
