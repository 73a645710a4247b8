// Parses what was typed, runs the command, maps its result to an exit code.
import { Code, ConnectError } from '@connectrpc/connect'
import { CommanderError } from 'commander'
import { Failure } from '#core/errors/errors.ts'
import { PayweaveError } from '../sdk-typescript/index.ts'
import type { Command, CommandContext } from './command.ts'
import { isUnauthenticated } from './connection.ts'
import { painterFor } from './output/paint.ts'
import { noProgress, openProgress } from './output/progress.ts'
import { completionCommand } from './parser/completion.ts'
import { commandParser, type Typed } from './parser/parser.ts'
import { UsageError } from './usage-error.ts'

const exit = { done: 0, failed: 1, usage: 2 } as const

/** The environment and streams of the process, which tests replace. */
export interface ProcessContext {
  env: NodeJS.ProcessEnv
  stdout: NodeJS.WritableStream
  stderr: NodeJS.WritableStream
}

/**
 * Runs what was typed, which is one of these commands or `completion`; resolves to the exit code: 0 done, 1 failed, 2 used wrongly. Never rejects: an error is printed.
 */
export async function runCommands(
  working: readonly Command[],
  words: string[],
  around: ProcessContext = process,
): Promise<number> {
  const { env, stdout, stderr } = around
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  let code: number = exit.done
  let name = ''
  const run = async (command: Command, typed: Typed): Promise<void> => {
    name = command.name
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
    // The reader of the output may close the pipe, like `head`.
    stdout.on('error', stop)
    code = (await command.run(contextOf(typed, stopping.signal, around))) ?? exit.done
  }
  try {
    await commandParser([...working, completionCommand(working)], {
      stdout,
      stderr,
      env,
      run,
    }).parseAsync(words, { from: 'user' })
    return code
  } catch (error) {
    // What is wrong with the usage, or the help, was written.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exit.done : exit.usage
    if (error instanceof UsageError) {
      stderr.write(`payweave: ${error.message}\nSee "payweave ${name} --help".\n`)
      return exit.usage
    }
    stderr.write(`payweave: ${wordsFor(error)}\n`)
    return exit.failed
  } finally {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
  }
}

function contextOf(
  { options, flags, operands }: Typed,
  stopping: AbortSignal,
  { env, stdout, stderr }: ProcessContext,
): CommandContext {
  return {
    options,
    flags,
    json: flags.has('json'),
    operands,
    env,
    stopping,
    print: (line) => void stdout.write(`${line}\n`),
    write: (bytes) => void stdout.write(bytes),
    warn: (line) => void stderr.write(`${line}\n`),
    paint: painterFor(stdout, env),
    progress: (words) => (flags.has('json') ? noProgress : openProgress(stderr, words)),
  }
}

function wordsFor(error: unknown): string {
  if (isUnauthenticated(error)) {
    return 'UNAUTHENTICATED: the service does not accept this bearer'
  }
  const { cause } = error instanceof Failure ? error : { cause: undefined }
  if (cause instanceof ConnectError && cause.code === Code.PermissionDenied) {
    return 'PERMISSION_DENIED: this bearer may not call this method'
  }
  if (error instanceof Failure) return `${error.reason}: ${error.message}`
  if (error instanceof PayweaveError) return `${error.reason}: ${explained(error)}`
  return error instanceof Error ? error.message : 'failed'
}

/** Message, reason of the network and remedy of a call that failed. A message of the API may end without a full stop. */
function explained(error: PayweaveError): string {
  const network = networkReason(error)
  const message = network === undefined ? error.message : `${error.message} (${network})`
  return `${message.replace(/\.$/, '')}. ${error.howToFix}`
}

/** Why no response came, such as `ECONNREFUSED`; undefined after a time-out, which the message has. */
function networkReason({ status, cause }: PayweaveError): string | undefined {
  if (status !== 0) return undefined
  let innermost = cause
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause
  if (!(innermost instanceof Error) || innermost.name === 'TimeoutError') return undefined
  const { code, message } = innermost as NodeJS.ErrnoException
  return code ?? message
}
