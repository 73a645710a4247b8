// Writes log lines to standard output, many in one write, each after a short delay at most.

import fs from 'node:fs'

/** Takes finished lines. `lastLevel` is the level of the line being written: the logging library sets it. */
export interface LogOutput {
  lastLevel: number
  /** Writes a finished line, soon or at once by its level. Never throws. */
  write(line: string): void
  /** Writes the lines that are held back. */
  flush(): void
}

/** Lines wait for others for so long, and until there are so many characters. */
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
export const standardOutput = bufferedOutput(writeStandardOutput)
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
