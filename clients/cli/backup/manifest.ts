// The manifest of a backup: what it has, with checksums. A folder without one is no backup.
import fs from 'node:fs/promises'
import path from 'node:path'
import { UsageError } from '../usage-error.ts'

/** One file of a backup. */
export type BackupFile = {
  /** Below the folder of the backup, `base/global/pg_control` for example. */
  path: string
  bytes: number
  /** In hex. */
  sha256: string
}

/** What a backup has. */
export type Manifest = {
  format: 1
  /** Version of PostgreSQL, which also restores it. */
  postgres: string
  /** Of the server, as text. */
  system_identifier: string
  /** The times of the server before and after the copy, ISO 8601. A restore leads to the second one. */
  start_time: string
  end_time: string
  /** Ids of the keys that processes had read by then. Values need the retired ones, too. */
  keys: { file: string; key_ids: string[] }[]
  /** Folders below `base`, empty ones too, each after the one it is in. */
  folders: string[]
  files: BackupFile[]
}

const name = 'manifest.json'

/** Writes the manifest, which makes the folder a backup. Rejects with the system's error. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const part = path.join(folder, `${name}.part`)
  await fs.writeFile(part, `${JSON.stringify(manifest, null, 1)}\n`, { mode: 0o600, flush: true })
  await fs.rename(part, path.join(folder, name))
}

/** Reads the manifest of a backup. Rejects with a UsageError when the folder is no backup of this format. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await fs.readFile(path.join(folder, name), 'utf8').catch(() => undefined)
  if (text === undefined) throw new UsageError(`${folder} is no backup: it has no ${name}`)
  const manifest = JSON.parse(text) as Manifest
  if (manifest.format !== 1) throw new UsageError(`${folder} has a format of another release`)
  return manifest
}

/** Number of bytes of all files. */
export function bytesOf({ files }: Pick<Manifest, 'files'>): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}
