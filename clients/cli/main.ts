// The command line: finds the command, parses its options, maps its result to an exit code.
import { parseArgs } from 'node:util'
import { Code, ConnectError } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { conformanceCommand } from '../../tools/conformance/command.ts'
import { billCommands } from './bills.ts'
import { bootstrapCommands } from './bootstrap.ts'
import { catalogueCommands } from './catalogue.ts'
import { type Command, type CommandContext, parserOptions } from './command.ts'
import { completionCommand } from './completion.ts'
import { deliveryCommands } from './deliveries.ts'
import { institutionCommands } from './institutions.ts'
import { keyCommands } from './keys.ts'
import { ledgerCommands } from './ledger.ts'
import { listenCommand } from './listen.ts'
import { doctorCommand } from './machine/doctor.ts'
import { statusCommand } from './machine/status.ts'
import { merchantCommands } from './merchants.ts'
import { migrationCommands } from './migrations.ts'
import { projectCommands } from './projects.ts'
import { requestsCommand } from './requests/tail.ts'
import { restoreCommands } from './restore/command.ts'
import { keyListCommands } from './rotation/command.ts'
import { sealCommands } from './seal.ts'
import { tailCommand } from './tail.ts'
import { triggerCommand } from './trigger/command.ts'
import { UsageError } from './usage-error.ts'

const working: Command[] = [
  tailCommand,
  ...deliveryCommands,
  listenCommand,
  ...projectCommands,
  ...keyCommands,
  ...keyListCommands,
  ...merchantCommands,
  ...institutionCommands,
  ...ledgerCommands,
  ...catalogueCommands,
  ...billCommands,
  doctorCommand,
  statusCommand,
  triggerCommand,
  ...bootstrapCommands,
  conformanceCommand,
  ...migrationCommands,
  ...restoreCommands,
  requestsCommand,
  ...sealCommands,
]
const commands: Command[] = [...working, completionCommand(working)]
const exit = { done: 0, failed: 1, usage: 2 } as const

/** The environment and streams of the process, which tests replace. */
export interface Surroundings {
  env: NodeJS.ProcessEnv
  stdout: NodeJS.WritableStream
  stderr: NodeJS.WritableStream
}

/**
 * Runs what was typed; resolves to the exit code: 0 done, 1 failed, 2 used wrongly. Never rejects: an error is printed.
 */
export async function runCommandLine(
  words: string[],
  around: Surroundings = process,
): Promise<number> {
  if (words.length === 0 || words[0] === 'help' || words[0] === '--help' || words[0] === '-h') {
    around.stdout.write(overview())
    return words.length === 0 ? exit.usage : exit.done
  }
  const command = commands.find(({ name }) =>
    name.split(' ').every((word, index) => words[index] === word),
  )
  if (command === undefined) {
    around.stderr.write(`payweave: no such command: ${words.slice(0, 2).join(' ')}\n${overview()}`)
    return exit.usage
  }
  return await run(command, words.slice(command.name.split(' ').length), around)
}

async function run(command: Command, words: string[], around: Surroundings): Promise<number> {
  const { stdout, stderr } = around
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  // The reader of the output may close the pipe, like `head`.
  stdout.on('error', stop)
  try {
    const { values, operands } = read(command, words)
    if (values['help'] === true) {
      stdout.write(usage(command))
      return exit.done
    }
    return (await command.run(contextOf(values, operands, stopping.signal, around))) ?? exit.done
  } catch (error) {
    if (error instanceof UsageError) {
      stderr.write(`payweave: ${error.message}\n\n${usage(command)}`)
      return exit.usage
    }
    stderr.write(`payweave: ${wordsFor(error)}\n`)
    return exit.failed
  } finally {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
  }
}

type Values = Record<string, string | boolean | undefined>

function read(command: Command, words: string[]): { values: Values; operands: string[] } {
  const options = parserOptions(command) ?? {}
  try {
    const parsed = parseArgs({ args: words, options, allowPositionals: command.operands !== '' })
    return { values: parsed.values as Values, operands: parsed.positionals }
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'bad options', { cause: error })
  }
}

function contextOf(
  values: Values,
  operands: string[],
  stopping: AbortSignal,
  { env, stdout, stderr }: Surroundings,
): CommandContext {
  const texts = Object.entries(values).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  const flags = Object.keys(values).filter((name) => values[name] === true)
  return {
    options: Object.fromEntries(texts),
    flags: new Set(flags),
    json: values['json'] === true,
    operands,
    env,
    stopping,
    print: (line) => void stdout.write(`${line}\n`),
    warn: (line) => void stderr.write(`${line}\n`),
  }
}

function wordsFor(error: unknown): string {
  const { cause } = error instanceof Failure ? error : { cause: undefined }
  if (cause instanceof ConnectError && cause.code === Code.Unauthenticated) {
    return 'UNAUTHENTICATED: the service does not accept this bearer'
  }
  if (cause instanceof ConnectError && cause.code === Code.PermissionDenied) {
    return 'PERMISSION_DENIED: this bearer may not call this method'
  }
  if (error instanceof Failure) return `${error.reason}: ${error.message}`
  return error instanceof Error ? error.message : 'failed'
}

function overview(): string {
  const width = Math.max(...commands.map(({ name, operands }) => `${name} ${operands}`.length))
  return [
    'Usage: payweave <command> [options]',
    '',
    ...commands.map(
      ({ name, operands, summary }) => `  ${`${name} ${operands}`.padEnd(width)}  ${summary}`,
    ),
    '',
    '"payweave <command> --help" shows its options. Every command accepts --json: one JSON object per line.',
    'Exit codes: 0 success, 1 failure, 2 invalid usage.',
    '',
  ].join('\n')
}

function usage({ name, operands, summary, options, flags }: Command): string {
  const rows = { ...options, ...flags, json: 'one JSON object per line', help: 'this text' }
  const width = Math.max(...Object.keys(rows).map((option) => option.length)) + 2
  return [
    `Usage: payweave ${`${name} ${operands}`.trim()} [options]`,
    '',
    summary,
    '',
    ...Object.entries(rows).map(
      ([option, meaning]) => `  ${`--${option}`.padEnd(width)}  ${meaning}`,
    ),
    '',
  ].join('\n')
}
