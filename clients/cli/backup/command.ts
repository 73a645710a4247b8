// The commands that make and check a backup of the database: a copy of its files with the log that they need.
import fs from 'node:fs/promises'
import path from 'node:path'
import { oneOperand } from '../access.ts'
import type { Command, CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { compareFiles, copyFile, emptyFolder, isFree, openMeter, syncFolder } from './files.ts'
import { type BackupFile, bytesOf, type Manifest, readManifest, writeManifest } from './manifest.ts'
import type { BackupSession } from './server-store.ts'

const maxNamed = 20

/** The commands of `backup`. */
export const backupCommands: Command[] = [
  {
    name: 'backup create',
    operands: '<new folder>',
    summary:
      'Copies the files of the running database of DATABASE_URL, with checksums; on its machine, as its user or root.',
    options: { data: 'data folder of PostgreSQL (what the server says)' },
    run: create,
  },
  {
    name: 'backup verify',
    operands: '<backup>',
    summary: 'Compares the files of a backup with their checksums; exits with 1 on a difference.',
    options: {},
    run: verify,
  },
]

async function create(context: CommandContext): Promise<void> {
  const folder = oneOperand(context, 'new folder')
  if (!(await isFree(folder))) throw new UsageError(`${folder} is not empty`)
  const session = await begin(context)
  try {
    const data = context.options['data'] ?? session.facts.dataFolder
    await requireSame(data, session)
    await fs.mkdir(folder, { recursive: true, mode: 0o700 })
    const manifest = await copyAll(context, { session, data, folder }).catch(async (error) => {
      await emptyFolder(folder)
      throw error
    })
    printBackup(context, folder, manifest)
  } finally {
    await session.close()
  }
}

/** Imports the modules on demand, so that all other commands start without them. */
async function begin({ env }: CommandContext): Promise<BackupSession> {
  const { readSettings, SettingsError } = await import('#platform/config/config.ts')
  const { beginBackup } = await import('./server-store.ts')
  try {
    const { databaseUrl: url, databasePasswordFile: passwordFile } = readSettings('migrate', env)
    return await beginBackup({ url, passwordFile })
  } catch (error) {
    throw error instanceof SettingsError ? new UsageError(error.message) : error
  }
}

async function requireSame(data: string, { facts }: BackupSession): Promise<void> {
  if (facts.tablespaces.length > 0) {
    throw new Error(
      `the database has tablespaces (${facts.tablespaces.join()}): use pg_basebackup instead`,
    )
  }
  const { serverOf } = await import('./data-folder.ts')
  const found = await serverOf(data).catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      `${data} cannot be read (${error.code}): run this on the machine of PostgreSQL, as its user or root`,
    )
  })
  const isSame =
    found.systemIdentifier === facts.systemIdentifier &&
    found.dataFolder === facts.dataFolder &&
    found.port === facts.port
  if (isSame) return
  throw new UsageError(`${data} is not the data folder of the server at DATABASE_URL`)
}

type CopySource = { session: BackupSession; data: string; folder: string }

async function copyAll(
  context: CommandContext,
  { session, data, folder }: CopySource,
): Promise<Manifest> {
  const { dataEntries } = await import('./data-folder.ts')
  const entries = await dataEntries(data)
  const folders = entries.filter(({ isFolder }) => isFolder).map((entry) => entry.path)
  for (const name of ['base', 'wal', ...folders.map((one) => path.join('base', one))]) {
    await fs.mkdir(path.join(folder, name), { mode: 0o700 })
  }
  const plain = entries.filter(({ isFolder }) => !isFolder)
  const all = plain.reduce((sum, { bytes }) => sum + bytes, 0)
  const meter = openMeter(context, 'copied', all)
  const files: BackupFile[] = []
  const copy = async (from: string, name: string) => {
    const copied = await copyFile(from, path.join(folder, name), meter)
    if (copied !== undefined) files.push({ path: name, ...copied })
    return copied !== undefined
  }
  try {
    // A file that is gone by now was removed after the backup began: the log says so.
    for (const { path: name } of plain) {
      await copy(path.join(data, name), path.join('base', name))
    }
    const keys = await session.keys()
    const { label, logFiles, time } = await session.end()
    const log = path.join(data, 'pg_wal')
    const histories = (await fs.readdir(log)).filter((name) => name.endsWith('.history'))
    for (const name of [...histories, ...logFiles]) {
      if (await copy(path.join(log, name), path.join('wal', name))) continue
      throw new Error(`the server has removed its log ${name}: raise max_slot_wal_keep_size`)
    }
    const labelFile = path.join(folder, 'label.part')
    await fs.writeFile(labelFile, label, { mode: 0o600 })
    await copy(labelFile, 'base/backup_label')
    await fs.rm(labelFile)
    await syncFolder(folder)
    const { version: postgres, systemIdentifier: system_identifier, time: start } = session.facts
    const times = { start_time: start.toISOString(), end_time: time.toISOString() }
    const server = { postgres, system_identifier }
    const manifest: Manifest = { format: 1, ...server, ...times, keys, folders, files }
    await writeManifest(folder, manifest)
    return manifest
  } finally {
    meter.stop()
  }
}

async function verify(context: CommandContext): Promise<void> {
  const folder = oneOperand(context, 'backup')
  const manifest = await readManifest(folder)
  requireWhole(await compareFiles(context, folder, manifest))
  printBackup(context, folder, manifest)
}

/** Throws an Error that names files of a backup which are missing or differ, if there are any. */
export function requireWhole(damaged: readonly string[]): void {
  if (damaged.length === 0) return
  const more = damaged.length > maxNamed ? ` and ${damaged.length - maxNamed} more` : ''
  throw new Error(
    `files of the backup are missing or damaged: ${damaged.slice(0, maxNamed).join(', ')}${more}`,
  )
}

/** Prints what a backup has, and which keys its values need. */
export function printBackup(
  { json, print }: CommandContext,
  folder: string,
  manifest: Manifest,
): void {
  const { postgres, start_time, end_time, keys, files } = manifest
  const bytes = bytesOf(manifest)
  if (json) {
    print(
      JSON.stringify({ folder, postgres, start_time, end_time, files: files.length, bytes, keys }),
    )
    return
  }
  print(
    `${folder}  ${files.length} files  ${Math.ceil(bytes / 1_048_576)} MiB  PostgreSQL ${postgres}  restores ${end_time}`,
  )
  for (const { file, key_ids: ids } of keys) print(`needs keys  ${file}  ${ids.join(' ')}`)
}
