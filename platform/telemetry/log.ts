// Structured logs on standard output, with only the fields of the allow-list.

import fs from 'node:fs'
import { isIP } from 'node:net'
import pino from 'pino'
import { Failure } from '#core/errors/errors.ts'
import { formatIso } from '#core/text/time.ts'
import { ConfigurationError } from '../process/configuration-error.ts'
import { allowedFields, fits, type LogFields, scrub } from './log-fields.ts'

export type { LogFields } from './log-fields.ts'

type Write = {
  (fields: LogFields, message: string): void
  (message: string): void
}

/** What the code logs with: constant messages, facts as fields. */
export interface Logger {
  level: string
  trace: Write
  debug: Write
  info: Write
  warn: Write
  error: Write
  fatal: Write
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger
}

export type LogLevel = (typeof logLevels)[number]

/** Levels that `LOG_LEVEL` takes. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

export type LoggerOptions = {
  /** Process name, on every line. */
  part: string
  level: LogLevel
  /** Where lines go; standard output when unset. */
  destination?: { write(line: string): void }
  /** Facts of the current request, read for every line. */
  context?: () => LogFields
}

/** Makes the logger of a process. Fields that are not on the allow-list are dropped and counted. */
export function createLogger({ part, level, destination, context }: LoggerOptions): Logger {
  const logger = pino(
    {
      level,
      base: { part, pid: process.pid },
      timestamp: () => `,"time":"${formatIso(new Date())}"`,
      formatters: {
        level: (label) => ({ level: label }),
      },
      // The hook below has described the error already; the library's own serializer would add its message.
      serializers: { err: (described: unknown) => described },
      hooks: {
        logMethod(given: unknown[], write) {
          const [fields, message] = lineOf(given)
          write.call(
            this,
            context === undefined ? fields : { ...contextOf(context), ...fields },
            message,
          )
        },
      },
    },
    destination ?? standardOutput,
  )
  const bareChild = logger.child
  // Replaced on the logger, and so for its children, because the library passes the fields of a child to no hook.
  logger.child = function child(this: typeof logger, fields: LogFields) {
    return bareChild.call(this, allowedFields(fields))
  } as typeof logger.child
  return logger
}

/** Every way to call the logger, in one safe form: `pino` itself would take an error's message as the line's. */
function lineOf([first, second]: unknown[]): [Record<string, unknown>, string] {
  if (typeof first === 'string') return [{}, scrubbed(first)]
  const message = typeof second === 'string' ? scrubbed(second) : 'no message'
  if (first instanceof Error) return [{ err: describeError(first) }, message]
  if (typeof first !== 'object' || first === null) return [{}, message]
  const fields: Record<string, unknown> = allowedFields(first)
  if ('err' in first && first.err !== undefined) fields['err'] = describeError(first.err)
  return [fields, message]
}

// Messages are constants of the code. There are few, so each is scrubbed once and remembered.
const knownMessages = new Map<string, string>()
const maxMessages = 500

function scrubbed(message: string): string {
  const known = knownMessages.get(message)
  if (known !== undefined) return known
  const clean = scrub(message)
  if (knownMessages.size < maxMessages) knownMessages.set(message, clean)
  return clean
}

function contextOf(context: () => LogFields): Record<string, unknown> {
  return allowedFields(context())
}

type ErrorFacts = {
  type: string
  reason?: string
  code?: string
  constraint?: string
  /** The system call that failed, such as `connect` or `open`. */
  syscall?: string
  /** Host and port of the other side, or the name that was looked up. */
  address?: string
  /** The file. */
  path?: string
  message?: string
  stack?: string[]
  cause?: ErrorFacts
  /** Errors of an AggregateError, such as of a connection to each address of a name. */
  errors?: ErrorFacts[]
}

const maxDepth = 4
const maxErrors = 4

/**
 * The facts of a thrown value that may be logged: where it happened, never with which values. Only the messages of a
 * Failure and a ConfigurationError are ours; others may quote a row, a body, a header or a URL with its password.
 */
export function describeError(thrown: unknown, depth = 0): ErrorFacts {
  if (!(thrown instanceof Error)) return { type: typeof thrown }
  const facts: ErrorFacts = { type: identifier(thrown.constructor.name) ?? 'Error' }
  if (thrown instanceof Failure) {
    facts.reason = thrown.reason
    facts.message = scrub(thrown.message)
  }
  if (thrown instanceof ConfigurationError) facts.message = scrub(thrown.message)
  const { code, constraint } = thrown as { code?: unknown; constraint?: unknown }
  const known = { code: identifier(code), constraint: identifier(constraint) }
  if (known.code !== undefined) facts.code = known.code
  if (known.constraint !== undefined) facts.constraint = known.constraint
  Object.assign(facts, systemFacts(thrown))
  const stack = framesOf(thrown)
  if (stack.length > 0) facts.stack = stack
  if (depth === maxDepth) return facts
  const cause = causeOf(thrown)
  if (cause !== undefined) facts.cause = describeError(cause, depth + 1)
  if (thrown instanceof AggregateError) {
    const errors: unknown[] = thrown.errors
    facts.errors = errors.slice(0, maxErrors).map((error) => describeError(error, depth + 1))
  }
  return facts
}

/** The key by which a log deduplicates errors, over the whole chain of causes. */
export function errorKey(thrown: unknown): string {
  return keyOf(describeError(thrown))
}

function keyOf({ type, code, reason, message, cause, errors }: ErrorFacts): string {
  // Sorted, because the errors of several servers come in any order.
  const own = errors === undefined ? [code, reason, message] : errors.map(keyOf).toSorted()
  return [type, ...own, cause === undefined ? '' : keyOf(cause)].join(' ')
}

/** The cause of an error, which the NATS client keeps under another name. */
function causeOf(thrown: Error): unknown {
  return thrown.cause ?? (thrown as { chainedError?: unknown }).chainedError
}

/** The facts that Node.js adds to the error of a failed system call. */
function systemFacts(
  thrown: Error & { syscall?: unknown; address?: unknown; hostname?: unknown; path?: unknown },
): Pick<ErrorFacts, 'syscall' | 'address' | 'path'> {
  const { syscall, hostname, path } = thrown
  const { address = hostname, port } = thrown as { address?: unknown; port?: unknown }
  const host = isIP(String(address)) === 6 ? `[${String(address)}]` : String(address)
  const origin = typeof port === 'number' ? `${host}:${port}` : host
  return {
    ...(fits('word', syscall) && { syscall }),
    ...(address !== undefined && fits('origin', origin) && { address: origin }),
    ...(fits('word', path) && { path }),
  }
}

function identifier(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && /^[A-Za-z0-9_]{1,63}$/.test(text) && !/\d{7}/.test(text)
    ? text
    : undefined
}

const framePattern =
  /^\s+at (?:async )?[^\s()]*(?: \[as [^\s()]+\])?(?: \(?(?:file|node):[^\s()]+:\d+:\d+\)?| \(?\/[^\s()]+:\d+:\d+\)?)?$/

/** The frames of a stack. The message stands before them and may have lines of its own, so it is cut off first. */
function framesOf(error: Error): string[] {
  const stack = typeof error.stack === 'string' ? error.stack : ''
  const at = stack.lastIndexOf(error.message)
  const frames = error.message === '' || at < 0 ? stack : stack.slice(at + error.message.length)
  return frames
    .split('\n')
    .filter((line) => framePattern.test(line))
    .slice(0, 12)
    .map((line) => line.trim())
}

/** Takes finished lines. `lastLevel` is the level of the line being written: the logging library sets it. */
export interface LogOutput {
  lastLevel: number
  /** Writes a finished line, soon or at once by its level. */
  write(line: string): void
  /** Writes the lines that are held back. */
  flush(): void
}

/** Lines are held back for this long, or until this many characters are held. */
const holdMs = 20
const holdLength = 32 * 1024
/** `warn` of the library: from here on lines go out at once, with all that wait. */
const urgentLevel = 40

const waitCell = new Int32Array(new SharedArrayBuffer(4))
const fullPipeWaitMs = 10
const fullPipeWaits = 100

/**
 * Makes an output that holds lines back for up to 20 ms, since a write to the system for each costs more than the line.
 * Warnings and errors are written at once with all held lines, and so are these when the process exits by itself. A
 * kill can lose the lines below `warn` of the last few milliseconds.
 */
export function bufferedOutput(writeOut: (text: string) => void): LogOutput {
  let held = ''
  let timer: NodeJS.Timeout | undefined
  const output: LogOutput & { [needsLevel]: true } = {
    [needsLevel]: true,
    lastLevel: 0,
    write(line) {
      held += line
      if (output.lastLevel >= urgentLevel || held.length >= holdLength) output.flush()
      else timer ??= setTimeout(output.flush, holdMs).unref()
    },
    flush() {
      clearTimeout(timer)
      timer = undefined
      if (held === '') return
      const text = held
      held = ''
      writeOut(text)
    },
  }
  return output
}

/** Makes the library set `lastLevel`. */
const needsLevel = Symbol.for('pino.metadata')

/** The one standard output of a process, for all of its loggers. */
const standardOutput = bufferedOutput(writeStandardOutput)
process.on('exit', standardOutput.flush)

/**
 * Writes at once, waiting up to a second for a full pipe. Never throws; a closed pipe loses the text. The library's own
 * destination is not used because it would retry a fatal line for ever.
 */
function writeStandardOutput(text: string): void {
  let rest = Buffer.from(text)
  for (let waits = 0; rest.length > 0 && waits < fullPipeWaits; ) {
    try {
      rest = rest.subarray(fs.writeSync(1, rest))
    } catch (error) {
      if (!isFull(error)) return
      waits += 1
      Atomics.wait(waitCell, 0, 0, fullPipeWaitMs)
    }
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN'
}
