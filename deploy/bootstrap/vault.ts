// The folder of one installation's secrets: reads and writes it, and protects those that must never be lost.
import fs from 'node:fs'
import path from 'node:path'
import type { Bearer } from '#platform/rpc/auth/trust.ts'
import { writePrivateFile } from '../local/private-file.ts'

/** What the folder says of itself; it holds no secret. */
type VaultRecord = { version: 1; made: string[]; bearers: Bearer[] }

/** An open folder. Paths are `<secret>/<file>`. */
export type Vault = {
  folder: string
  bearers: Bearer[]
  has(file: string): boolean
  read(file: string): string
  /** When the file was last written. */
  writeTime(file: string): Date
  /** Makes the file when there is none; answers its content. */
  keep(file: string, content: () => string): string
  /** Replaces the file when its content is another. */
  put(file: string, content: string): void
  remove(file: string): void
  /** The files of a folder, or all of them, sorted. */
  list(folder?: string): string[]
  /** What was made or replaced since it was opened. */
  changes: string[]
  /** Writes down what there is. Call it last. */
  close(): void
}

/** Why a folder cannot be used, for people. */
export class VaultError extends Error {
  override readonly name = 'VaultError'
}

const recordFile = 'bootstrap.json'

/**
 * Opens a folder, or makes it. Refuses one that somebody else filled, and one from which something is missing that it
 * once held: a new secret in its place would be worse than none.
 */
export function openVault(folder: string): Vault {
  const record = readRecord(folder)
  const lost = record.made.filter((file) => !fs.existsSync(path.join(folder, file)))
  if (lost.length > 0) {
    throw new VaultError(
      `${lost.join(', ')} was made before and is gone: bring it back from its copy`,
    )
  }
  const made = new Set(record.made)
  const changes: string[] = []
  const at = (file: string) => path.join(folder, file)

  function write(file: string, content: string): void {
    fs.mkdirSync(path.dirname(at(file)), { recursive: true, mode: 0o700 })
    writePrivateFile(at(file), content)
    made.add(file)
    changes.push(file)
  }

  const vault: Vault = {
    folder,
    bearers: record.bearers,
    changes,
    has: (file) => fs.existsSync(at(file)),
    read: (file) => fs.readFileSync(at(file), 'utf8'),
    writeTime: (file) => fs.statSync(at(file)).mtime,
    keep(file, content) {
      if (!vault.has(file)) write(file, content())
      return vault.read(file)
    },
    put(file, content) {
      if (!vault.has(file) || vault.read(file) !== content) write(file, content)
    },
    remove(file) {
      fs.rmSync(at(file))
      made.delete(file)
    },
    list(below) {
      const start = below === undefined ? '' : `${below}/`
      return [...made].filter((file) => file.startsWith(start)).toSorted()
    },
    close() {
      const now: VaultRecord = { version: 1, made: [...made].toSorted(), bearers: vault.bearers }
      writePrivateFile(at(recordFile), `${JSON.stringify(now, null, 2)}\n`)
    },
  }
  return vault
}

function readRecord(folder: string): VaultRecord {
  const file = path.join(folder, recordFile)
  if (fs.existsSync(file)) return JSON.parse(fs.readFileSync(file, 'utf8')) as VaultRecord
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (fs.readdirSync(folder).length > 0) {
    throw new VaultError(
      `${folder} is not empty and is not a folder of secrets: pass another folder`,
    )
  }
  return { version: 1, made: [], bearers: [] }
}
