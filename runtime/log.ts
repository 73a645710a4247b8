// Structured logs on standard output. It must not let a field through that is not on the allow-list.

import pino from 'pino'
import { Failure } from '#core/errors.ts'
import { formatIso } from '#core/time.ts'
import { allowedFields, type LogFields, scrub } from './log-fields.ts'
import { standardOutput } from './log-output.ts'

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
  /** A logger whose every line carries these fields too. */
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

/** Makes the logger of a process. */
export function createLogger({ part, level, destination, context }: LoggerOptions): Logger {
  const logger = pino(
    {
      level,
      base: { part, pid: process.pid },
      timestamp: () => `,"time":"${formatIso(new Date())}"`,
      formatters: {
        level: (label) => ({ level: label }),
      },
      // Errors are described before they come here; the library's own serializer would add their messages.
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
  // Children inherit this: the library hands their fields to no hook.
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

// Messages are constants of the code: the few that there are need to be searched once.
const knownMessages = new Map<string, string>()
const mostMessages = 500

function scrubbed(message: string): string {
  const known = knownMessages.get(message)
  if (known !== undefined) return known
  const clean = scrub(message)
  if (knownMessages.size < mostMessages) knownMessages.set(message, clean)
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
  message?: string
  stack?: string[]
  cause?: ErrorFacts
}

/**
 * What may be said about something thrown: where, never with which values. Only a Failure's message is ours; others
 * may quote a row, a body or a header.
 */
export function describeError(thrown: unknown, depth = 0): ErrorFacts {
  if (!(thrown instanceof Error)) return { type: typeof thrown }
  const facts: ErrorFacts = { type: identifier(thrown.constructor.name) ?? 'Error' }
  if (thrown instanceof Failure) {
    facts.reason = thrown.reason
    facts.message = scrub(thrown.message)
  }
  const { code, constraint } = thrown as { code?: unknown; constraint?: unknown }
  const known = { code: identifier(code), constraint: identifier(constraint) }
  if (known.code !== undefined) facts.code = known.code
  if (known.constraint !== undefined) facts.constraint = known.constraint
  const stack = framesOf(thrown)
  if (stack.length > 0) facts.stack = stack
  if (thrown.cause !== undefined && depth < 3) facts.cause = describeError(thrown.cause, depth + 1)
  return facts
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
