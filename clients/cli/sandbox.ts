// The command that empties the sandbox of this machine.
import path from 'node:path'
import { resetData } from '../../deploy/local/reset.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError } from './usage-error.ts'

/** `sandbox reset`. */
export const sandboxResetCommand: Command = {
  name: 'sandbox reset',
  operands: '',
  summary:
    'Removes all payments, accounts and events of a stopped local start, and keeps its keys.',
  options: { 'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)' },
  flags: { yes: 'confirms that the data is removed' },
  run: reset,
}

/** Removes the data of a stopped local start. Throws a UsageError without --yes, and a LaunchError as `resetData` does. */
export async function reset({
  options,
  flags,
  env,
  json,
  print,
  warn,
}: CommandContext): Promise<void> {
  const dataDir = path.resolve(options['data-dir'] ?? env['PAYWEAVE_DATA_DIR'] ?? '.payweave')
  if (!flags.has('yes')) {
    throw new UsageError(`--yes is missing: the data in ${dataDir} cannot be restored`)
  }
  await resetData(dataDir, warn)
  const next = 'The keys are the same. Start with "npm start".'
  print(json ? JSON.stringify({ reset: dataDir }) : `removed the data in ${dataDir}. ${next}`)
}
