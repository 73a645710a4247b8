// Reads and writes key lists: in the data folder of a local start, or in an installation's folder of secrets.
import fs from 'node:fs'
import path from 'node:path'
import { formatKeyRing, type KeyRing, KeyRingError, parseKeyRing } from '#core/identity/key-ring.ts'
import { writePrivateFile } from '../local/private-file.ts'
import { secretsFolder } from '../local/secrets.ts'
import { type Vault, VaultError } from './vault.ts'

/** A folder with the lists of all processes. Names are those of `keyFileNames`. */
export type KeyFolder = {
  /** In a local start the processes read the very files; elsewhere somebody has to bring them the change. */
  kind: 'local' | 'installation'
  /** Throws VaultError, without the content, for a file that is not there or holds no keys. */
  read(name: string): KeyRing
  write(name: string, ring: KeyRing): void
  /** When the file of a list was last written, which is never before its latest step. */
  writeTime(name: string): Date
}

/** The lists of a local start, which its processes read again by themselves. */
export function localKeyFolder(dataDir: string): KeyFolder {
  const file = (name: string) => {
    const { part, base } = split(name)
    return path.join(secretsFolder(dataDir, part), base)
  }
  return {
    kind: 'local',
    read: (name) =>
      readRing(name, fs.existsSync(file(name)), () => fs.readFileSync(file(name), 'utf8')),
    write: (name, ring) => writePrivateFile(file(name), formatKeyRing(ring)),
    writeTime: (name) => fs.statSync(file(name)).mtime,
  }
}

/** The lists of an installation. */
export function installationKeyFolder(vault: Vault): KeyFolder {
  return {
    kind: 'installation',
    read: (name) => readRing(name, vault.has(inVault(name)), () => vault.read(inVault(name))),
    write: (name, ring) => vault.put(inVault(name), formatKeyRing(ring)),
    writeTime: (name) => vault.writeTime(inVault(name)),
  }
}

function inVault(name: string): string {
  const { part, base } = split(name)
  return `${part}-secrets/${base}`
}

/** The process of a list, and the name of its file. */
export function split(name: string): { part: string; base: string } {
  const [part = '', base = ''] = name.split('/')
  return { part, base }
}

function readRing(name: string, isThere: boolean, read: () => string): KeyRing {
  if (!isThere) throw new VaultError(`${name} does not exist`)
  try {
    return parseKeyRing(read())
  } catch (error) {
    if (error instanceof KeyRingError) throw new VaultError(`${name} ${error.message}`)
    throw error
  }
}
