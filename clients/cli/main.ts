// The command line of a checkout and of the image: all commands.
import { backendConformanceCommand } from '../../tools/conformance/backend/command.ts'
import { backupCommands } from './backup/command.ts'
import { bootstrapCommands } from './bootstrap.ts'
import type { Command } from './command.ts'
import { doctorCommand } from './machine/doctor.ts'
import { merchantPreviewCommand } from './merchants/preview.ts'
import { migrationCommands } from './migrations.ts'
import { portableCommands } from './portable-commands.ts'
import { restoreCommands } from './restore/command.ts'
import { restoreFilesCommand } from './restore/files.ts'
import { keyListCommands } from './rotation/command.ts'
import { type ProcessContext, runCommands } from './run.ts'

/** The commands that work on a machine of the system or its database. */
export const localCommands: readonly Command[] = [
  ...keyListCommands,
  merchantPreviewCommand,
  doctorCommand,
  ...bootstrapCommands,
  backendConformanceCommand,
  ...migrationCommands,
  ...backupCommands,
  restoreFilesCommand,
  ...restoreCommands,
]

const commands = [...portableCommands, ...localCommands]

/** Runs what was typed; resolves to the exit code: 0 done, 1 failed, 2 used wrongly. Never rejects: an error is printed. */
export function runCommandLine(words: string[], around: ProcessContext = process): Promise<number> {
  return runCommands(commands, words, around)
}
