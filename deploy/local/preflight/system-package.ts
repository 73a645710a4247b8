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
  const download = (options: string[]) =>
    run('apt-get', [...options, '-q', 'download', packageName], {
      cwd: work,
      timeout: downloadTimeoutMs,
    })
  try {
    await download([])
  } catch {
    // No lists on this machine, or stale ones: fetch fresh ones into a folder of our own.
    const own = ownAptState(work)
    await run('apt-get', [...own, '-q', 'update'], { timeout: downloadTimeoutMs }).catch(() => {})
    await download(own)
  }
  const name = fs.readdirSync(work).find((file) => file.endsWith('.deb'))
  if (!name) throw new Error('apt-get left no package')
  await run('dpkg', ['-x', path.join(work, name), path.join(work, 'package')])
  const found = ['usr/sbin', 'usr/bin']
    .map((folder) => path.join(work, 'package', folder, program))
    .find((file) => fs.existsSync(file))
  if (!found) throw new Error(`the package holds no ${program}`)
  return found
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
