// The log files of a local start, bounded in size while their writers hold them open, and the log of the launcher itself.
import fs from 'node:fs'
import { createLogger, type Logger } from '#platform/telemetry/log.ts'

const maxLogBytes = 20 * 1024 * 1024
const boundEveryMs = 15_000

/** Opens a log for appending; one that is too long already is kept once, as `<file>.1`. */
export function openLog(file: string): number {
  if (sizeOf(file) > maxLogBytes) fs.renameSync(file, `${file}.1`)
  return fs.openSync(file, 'a', 0o600)
}

/** The launcher's own log. A line that cannot be written is left out. */
export function openJournal(file: string): Logger {
  const log = openLog(file)
  keepBounded(file)
  const write = (line: string) => {
    try {
      fs.writeSync(log, line)
    } catch {
      // On a full disk; what matters is printed too.
    }
  }
  return createLogger({ part: 'launcher', level: 'info', destination: { write } })
}

/** The last lines of a log, for an error message; only what it says after `from` characters. */
export function tailOf(file: string, from = 0): string {
  const text = fs.readFileSync(file, 'utf8').slice(from).trim()
  return text.split('\n').slice(-8).join('\n')
}

/** Bounds a log until its writer has ended. */
export function keepBounded(file: string, exited?: Promise<unknown>): void {
  const bounding = setInterval(() => boundOrLeave(file), boundEveryMs).unref()
  void exited?.then(() => clearInterval(bounding))
}

/** On a full disk the copy fails; the log then goes on as it is. */
function boundOrLeave(file: string): void {
  try {
    boundLog(file)
  } catch {
    // Tried again later.
  }
}

/** Its writer holds the file open for appending and goes on at the new end of a file that was cut. */
export function boundLog(file: string, maxBytes = maxLogBytes): void {
  if (sizeOf(file) <= maxBytes) return
  fs.copyFileSync(file, `${file}.1`)
  fs.truncateSync(file)
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
