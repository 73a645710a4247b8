// Makes the data folder and checks whether a start can work in it.
import fs from 'node:fs'
import path from 'node:path'
import { LaunchError } from './launch-error.ts'
import { explained } from './problems.ts'

const mebibyte = 2 ** 20
/** What the first start writes, with a margin; and what a later one may need before its first checkpoint. */
const firstStartBytes = 128 * mebibyte
const laterStartBytes = 32 * mebibyte
/** What earlier starts have left, which this user must be able to read. */
const ownFiles = ['sandbox.json', 'secrets', 'postgres', 'nats', 'logs']

/**
 * Makes the folder if it is missing. Throws a LaunchError when it is no folder, belongs to somebody else, cannot be written or
 * has no room.
 */
export function prepareDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir)
    requireOwn(dataDir)
    tryToWrite(dataDir)
  } catch (error) {
    throw explained(error, dataDir)
  }
  requireRoom(dataDir)
}

/** Not by one recursive call, which does not end in a folder where nothing can be made, such as /proc. */
function makeFolder(folder: string): void {
  const stat = fs.statSync(folder, { throwIfNoEntry: false })
  if (stat?.isDirectory() === true) return
  if (stat !== undefined) {
    throw new LaunchError(
      `PAYWEAVE_DATA_DIR: ${folder} is a file and not a folder; remove it, or set another folder`,
    )
  }
  const above = path.dirname(folder)
  if (above !== folder) makeFolder(above)
  // PostgreSQL's own user has to pass through; all that is secret has a closed folder or file.
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700
  try {
    fs.mkdirSync(folder, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    const { code = '' } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    throw new LaunchError(
      `PAYWEAVE_DATA_DIR: ${folder} cannot be made (${code}); set it to a folder of your own`,
    )
  }
}

/** Root may read what belongs to others. */
function requireOwn(dataDir: string): void {
  const uid = process.getuid?.()
  if (uid === undefined || uid === 0) return
  for (const name of ownFiles) {
    const file = path.join(dataDir, name)
    const owner = fs.lstatSync(file, { throwIfNoEntry: false })?.uid
    if (owner === undefined || owner === uid) continue
    throw new LaunchError(
      `PAYWEAVE_DATA_DIR: ${file} belongs to another user (${owner}), who started here before; start as that user, ` +
        'or set another folder',
    )
  }
}

function tryToWrite(dataDir: string): void {
  const file = path.join(dataDir, `.writable.${process.pid}`)
  try {
    fs.writeFileSync(file, 'x', { mode: 0o600 })
  } catch (error) {
    // The folder is what a person can do something about.
    throw Object.assign(error as NodeJS.ErrnoException, { path: dataDir })
  } finally {
    fs.rmSync(file, { force: true })
  }
}

function requireRoom(dataDir: string): void {
  const { bavail, bsize } = fs.statfsSync(dataDir)
  const isFirst = !fs.existsSync(path.join(dataDir, 'postgres', 'cluster'))
  const wanted = isFirst ? firstStartBytes : laterStartBytes
  const free = bavail * bsize
  if (free >= wanted) return
  throw new LaunchError(
    `PAYWEAVE_DATA_DIR: ${Math.floor(free / mebibyte)} MiB are free on the disk of ${dataDir}, and ${isFirst ? 'a first' : 'a'} ` +
      `start wants ${wanted / mebibyte}; make room, or set it to a folder on another disk`,
  )
}
