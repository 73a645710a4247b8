// The command that makes a data folder of PostgreSQL out of a backup.
import fs from 'node:fs/promises'
import path from 'node:path'
import { oneOperand } from '../access.ts'
import { printBackup, requireWhole } from '../backup/command.ts'
import { compareFiles, emptyFolder, isFree, syncFolder } from '../backup/files.ts'
import { type Manifest, readManifest } from '../backup/manifest.ts'
import type { Command, CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'

/** `restore files`. */
export const restoreFilesCommand: Command = {
  name: 'restore files',
  operands: '<backup>',
  summary:
    'Makes a data folder of PostgreSQL out of what "backup create" made, and compares each file with its checksum; as the user of PostgreSQL.',
  options: { out: 'the new data folder; it must not exist, or be empty' },
  run: restoreFiles,
}

async function restoreFiles(context: CommandContext): Promise<void> {
  const folder = oneOperand(context, 'backup')
  const { out } = context.options
  if (out === undefined) throw new UsageError('--out is missing')
  if (!(await isFree(out))) throw new UsageError(`${out} is not empty`)
  const manifest = await readManifest(folder)
  await fs.mkdir(out, { recursive: true })
  await fs.chmod(out, 0o700)
  await copyAll(context, { folder, out }, manifest).catch(async (error) => {
    await emptyFolder(out)
    throw error
  })
  printBackup(context, folder, manifest)
  if (!context.json) {
    context.print(`start PostgreSQL on ${out}, then run "payweave restore check"`)
  }
}

type Folders = { folder: string; out: string }

async function copyAll(
  context: CommandContext,
  { folder, out }: Folders,
  manifest: Manifest,
): Promise<void> {
  for (const name of manifest.folders) await fs.mkdir(path.join(out, name), { mode: 0o700 })
  const damaged = await compareFiles(context, folder, manifest, (file) =>
    path.join(out, file.replace(/^base\//, '').replace(/^wal\//, 'pg_wal/')),
  )
  requireWhole(damaged)
  await syncFolder(out)
}
