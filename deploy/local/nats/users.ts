// Gives each process of a local start a user of NATS with the rights that it has in an installation.
import fs from 'node:fs'
import path from 'node:path'
import { natsUsers } from '#platform/config/setting.ts'
import { natsPasswordLine } from '../../bootstrap/nats-passwords.ts'
import { newPassword, readOrMakeFile, writePrivateFile } from '../private-file.ts'
import { secretsFolder } from '../secrets.ts'

const shipped = path.resolve(import.meta.dirname, '../../k8s/nats/users.conf')

/** The file in a process's folder of secrets that holds its password for NATS. */
export function natsPasswordFile(dataDir: string, user: string): string {
  return path.join(secretsFolder(dataDir, user), 'nats-password')
}

/**
 * Makes the passwords that are missing and writes the users of the manifests into the folder of our NATS. Answers the lines
 * that its configuration takes them in by.
 */
export function prepareNatsUsers(dataDir: string, natsDir: string): string[] {
  const lines = natsUsers.map((user) => {
    const file = natsPasswordFile(dataDir, user)
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    return natsPasswordLine(user, readOrMakeFile(file, newPassword))
  })
  fs.mkdirSync(natsDir, { recursive: true, mode: 0o700 })
  writePrivateFile(path.join(natsDir, 'passwords.conf'), lines.join(''), false)
  writePrivateFile(path.join(natsDir, 'users.conf'), fs.readFileSync(shipped, 'utf8'), false)
  return ['include "users.conf"']
}
