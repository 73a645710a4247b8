// The secrets on which stored rows depend, by process; it must not read or write any.
import { randomBytes } from 'node:crypto'

/** Files of 32 bytes as hex that a process must find again at each start. */
export const lastingSecrets: Readonly<Record<string, readonly string[]>> = {
  accounts: ['pepper', 'seal.key', 'session.key'],
  payments: ['link.key'],
  billing: ['link.key'],
  gateway: ['page.key'],
}

/** The content of a new one. */
export function newLastingSecret(): string {
  return randomBytes(32).toString('hex')
}
