// Turns a problem of this machine at a start into one line with its remedy; a defect of ours keeps its stack.
import { LaunchError } from './launch-error.ts'

const roomAdvice = 'make room, or set PAYWEAVE_DATA_DIR to a folder on another disk'

/** Codes of the system, and of PostgreSQL for a full disk, with what they mean for a start. */
const meanings: Record<string, (where: string) => string> = {
  ENOSPC: (where) => `no space is left on the disk of ${where}; ${roomAdvice}`,
  EDQUOT: (where) => `no space is left within the quota of ${where}; ${roomAdvice}`,
  '53100': (where) => `no space is left on the disk of ${where}; ${roomAdvice}`,
  EACCES: (where) => `${where} may not be read or written by this user; ${ownAdvice}`,
  EPERM: (where) => `${where} may not be changed by this user; ${ownAdvice}`,
  EROFS: (where) => `${where} is on a file system that cannot be written; ${elsewhere}`,
  EMFILE: () => 'too many files are open; raise the limit: ulimit -n 65536',
  ENFILE: () => 'too many files are open on this machine; end other programs',
  ENOMEM: () => 'no memory is left; end other programs: the whole system uses about 1.3 GiB',
  EAGAIN: () => 'no more processes may be started; raise the limit: ulimit -u',
}

const elsewhere = 'set PAYWEAVE_DATA_DIR to a folder of your own'
const ownAdvice = `start as the user to whom it belongs, or ${elsewhere}`

/** A LaunchError for an error of the system or of a full disk; any other error as it is. */
export function explained(error: unknown, dataDir: string): unknown {
  if (error instanceof LaunchError || !(error instanceof Error)) return error
  const { code, path } = error as { code?: unknown; path?: unknown }
  const meaning = meanings[String(code)]
  if (meaning === undefined) return error
  return new LaunchError(meaning(typeof path === 'string' ? path : dataDir))
}

/** What servers say before they give up, and what it means; the first that fits. */
const sayings: [pattern: RegExp, meaning: (where: string) => string][] = [
  [
    /shared memory.*(No space left|Cannot allocate|Invalid argument)/i,
    () =>
      'too little shared memory; give /dev/shm more room (docker run --shm-size=256m) or raise kernel.shmmax',
  ],
  [
    /No space left on device|insufficient storage|\bENOSPC\b/i,
    (where) => meanings['ENOSPC']?.(where) ?? '',
  ],
  [/Disk quota exceeded/i, (where) => meanings['EDQUOT']?.(where) ?? ''],
  [/Cannot allocate memory/i, () => meanings['ENOMEM']?.('') ?? ''],
  [/Read-only file system/i, (where) => meanings['EROFS']?.(where) ?? ''],
  [
    /Address already in use/i,
    () => 'its port was taken meanwhile; start again, or set PORT_BASE to another block',
  ],
  [
    /database files are incompatible with server/i,
    (where) =>
      `${where} was made by another version of PostgreSQL; set PAYWEAVE_DATA_DIR to a new folder, or go back to the release that made it`,
  ],
]

/** What the end of a log says to be wrong with this machine, and the remedy; undefined where it says no such thing. */
export function knownProblem(said: string, folder: string): string | undefined {
  return sayings.find(([pattern]) => pattern.test(said))?.[1](folder)
}

/** Why a server of ours did not start, by the end of its log; one line that names the log where nothing better is known. */
export function serverProblem(name: string, said: string, folder: string, logFile: string): string {
  const known = knownProblem(said, folder)
  if (known !== undefined) return `${name} did not start: ${known}`
  const lines = said.split('\n').filter((line) => line.trim() !== '')
  const worst = lines.find((line) => /FATAL|PANIC|ERROR|\[FTL\]|error:/i.test(line)) ?? lines.at(-1)
  return `${name} did not start: ${worst?.trim() ?? 'it said nothing'}; its log is ${logFile}`
}
