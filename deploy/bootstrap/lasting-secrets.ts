// The secrets on which stored rows depend, by process.
import { randomBytes } from 'node:crypto'
import { formatKeyRing, keyRing, newKeyOf } from '#core/identity/key-ring.ts'

/** Files of keys that a process must find again at each start. */
export const lastingSecrets: Readonly<Record<string, readonly string[]>> = {
  accounts: ['pepper', 'seal.key', 'session.key'],
  payments: ['link.key'],
  billing: ['link.key'],
  gateway: ['page.key'],
}

/** The same files with their processes, as people name them: `accounts/pepper`. */
export const keyFileNames = Object.entries(lastingSecrets).flatMap(([part, files]) =>
  files.map((file) => `${part}/${file}`),
)

/** The content of a new one: a list of one key. */
export function newLastingSecret(): string {
  return formatKeyRing(keyRing([newKeyOf(randomBytes(32), 'current', new Date())])).trim()
}
