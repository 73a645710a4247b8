// The type of a command of the command line: options, help and work.

import type { Paint } from './output/paint.ts'
import type { Progress } from './output/progress.ts'

/** Dependencies of a command. */
export interface CommandContext {
  /** Values of its options. */
  options: Readonly<Record<string, string | undefined>>
  /** Its options without a value that were given. */
  flags: ReadonlySet<string>
  /** `--json` was given. */
  json: boolean
  /** The words after the command's name that are no options. */
  operands: string[]
  env: NodeJS.ProcessEnv
  /** Aborts on SIGINT and SIGTERM. */
  stopping: AbortSignal
  /** Writes one line on standard output. */
  print(line: string): void
  /** Writes bytes on standard output. */
  write(bytes: Uint8Array): void
  /** Writes one line on standard error. */
  warn(line: string): void
  /** Colours what `print` gets, on a terminal that has colours. */
  paint: Paint
  /** Opens a progress bar whose count has these words before it; without a terminal, and with `--json`, it shows nothing. */
  progress(words: string): Progress
}

/** One command. */
export interface Command {
  /** As it is typed, for example `deliveries list`. */
  name: string
  /** Names of its operands, for the help. */
  operands: string
  /** Possible operands, where they are known, for completion. */
  operandWords?: readonly string[]
  /** One sentence. */
  summary: string
  /** A call as it is typed after `payweave`, for the help. */
  example?: string
  /** Its options with a value, and what they mean. */
  options: Readonly<Record<string, string>>
  /** Its options without a value, and what they mean. */
  flags?: Readonly<Record<string, string>>
  /** Resolves to the exit code, if it is not 0. A UsageError means exit code 2, any other error 1. */
  run(context: CommandContext): Promise<number | undefined | void>
}

/** Options of every command that calls a service. */
export function optionsFor(
  part: 'delivery' | 'accounts' | 'billing' | 'payments' | 'institution' | 'quotes',
) {
  return {
    'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)',
    url: `address of the ${part} service, instead of the one in sandbox.json`,
    token: 'bearer for --url (better: set PAYWEAVE_TOKEN)',
  } as const
}

/** Options of every command on deliveries. */
export const connectionOptions = {
  project: 'UUID, or a name in sandbox.json (demo)',
  ...optionsFor('delivery'),
} as const
