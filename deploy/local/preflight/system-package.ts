// Extracts a program from a package of Debian or Ubuntu, without root and without installing it.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../process/tied-process.ts'

const run = promisify(execFile)
const downloadTimeoutMs = 120_000

/**
 * The path of `program` from `packageName`, unpacked below `work`. apt verifies the package by its signed
 * lists; neither root nor an installation is needed.
 */
export async function programFromPackage(
  packageName: string,
  program: string,
  work: string,
  systemFolders?: string[],
): Promise<string> {
  const tools = ['apt-get', 'dpkg'].map((name) => findProgram(name, systemFolders))
  if (tools.includes(undefined)) throw new Error('this is not Debian or Ubuntu')
  await withLists(work, (options) => unpackPackages([packageName], options, work))
  const found = ['usr/sbin', 'usr/bin']
    .map((folder) => path.join(work, 'package', folder, program))
    .find((file) => fs.existsSync(file))
  if (!found) throw new Error(`the package holds no ${program}`)
  return found
}

/** Downloads packages and unpacks them all to `<work>/package`. `options` are those of apt-get. */
export async function unpackPackages(
  packageNames: readonly string[],
  options: string[],
  work: string,
): Promise<void> {
  await run('apt-get', [...options, '-q', 'download', ...packageNames], {
    cwd: work,
    timeout: downloadTimeoutMs,
  })
  for (const name of fs.readdirSync(work).filter((file) => file.endsWith('.deb'))) {
    await run('dpkg', ['-x', path.join(work, name), path.join(work, 'package')])
  }
}

/** Uses the lists of packages of this machine; where that fails, fresh ones in a folder of our own. */
export async function withLists(
  work: string,
  use: (options: string[]) => Promise<void>,
): Promise<void> {
  try {
    await use([])
  } catch {
    // There are none, or they are stale.
    const own = ownAptState(work)
    await run('apt-get', [...own, '-q', 'update'], { timeout: downloadTimeoutMs }).catch(() => {})
    await use(own)
  }
}

function ownAptState(work: string): string[] {
  const state = path.join(work, 'apt')
  for (const folder of ['lists/partial', 'cache/archives/partial', 'state']) {
    fs.mkdirSync(path.join(state, folder), { recursive: true })
  }
  const settings = {
    'Dir::State': `${state}/state`,
    'Dir::State::lists': `${state}/lists`,
    // The machine's own list of what is installed; it is only read.
    'Dir::State::status': '/var/lib/dpkg/status',
    'Dir::Cache': `${state}/cache`,
    // Root would drop to a user who cannot enter the cache folder.
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
}
