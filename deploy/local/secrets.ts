// Gives every process its own secrets in a folder of its own; never prints or logs one.
import fs from 'node:fs'
import path from 'node:path'
import { hashToken } from '#core/identity/digest.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { lastingSecrets, newLastingSecret } from '../bootstrap/lasting-secrets.ts'
import { newPassword, readOrMakeFile } from './private-file.ts'
import type { LaunchSettings } from './settings.ts'
import { signInKeyFile, signInLink } from './sign-in-key.ts'

/**
 * Creates the secrets that are missing below `<data>/secrets/<process>`. The keys by which processes know each other
 * are new at each start, when all of them start too. The bearer may call everything.
 */
export function prepareSecrets(dataDir: string, processes: string[], bearerToken: string): void {
  const folder = path.join(dataDir, 'secrets')
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const sha256 = hashToken(bearerToken).toString('hex')
  writeIdentities(folder, processes, [{ name: 'internal', sha256, rpcs: ['*'] }])
  for (const [name, secrets] of Object.entries(lastingSecrets)) {
    for (const secret of secrets) {
      readOrMakeFile(path.join(folder, name, secret), newLastingSecret)
    }
  }
}

/** The key of the console's built-in provider, in its one-click link: made once, and kept. */
export function consoleKey(dataDir: string): string {
  return readOrMakeFile(path.join(secretsFolder(dataDir, 'console'), signInKeyFile), newPassword)
}

/** Where a person of this machine signs in: with an identity provider nobody chooses a person of the sandbox. */
export function consoleAddress(settings: LaunchSettings): string {
  const { consolePort, consoleUrl, dataDir, hasIdentityProvider } = settings
  return hasIdentityProvider ? consoleUrl : signInLink(consolePort, consoleKey(dataDir))
}

/** The folder of one process's secrets. */
export function secretsFolder(dataDir: string, name: string): string {
  return path.join(dataDir, 'secrets', name)
}
